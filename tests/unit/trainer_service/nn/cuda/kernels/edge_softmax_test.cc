#include "trainer_service/nn/cuda/kernels/edge_softmax.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/unit/trainer_service/nn/cuda/kernels/random_lists.h"
#include "tests/unit/trainer_service/test_gpu.h"

namespace fgnn {
namespace {

constexpr uint32_t kRows = 60;

// Scores and the gradient of the weights.
struct Attention {
  Lists lists;
  uint32_t heads = 1;
  std::vector<float> sources;       // [kRows, heads]
  std::vector<float> destinations;  // [lists, heads]
  std::vector<float> gradient;      // [entries, heads]
};

Attention MakeAttention(const std::vector<uint32_t>& sizes, uint32_t heads,
                        uint64_t seed, float scale = 3) {
  Attention attention;
  attention.lists = RandomLists(sizes, kRows, seed);
  attention.heads = heads;
  attention.sources = RandomFloats(uint64_t{kRows} * heads, seed + 1);
  attention.destinations = RandomFloats(sizes.size() * heads, seed + 2);
  attention.gradient =
      RandomFloats(uint64_t{attention.lists.entries()} * heads, seed + 3);
  for (float& score : attention.sources) score *= scale;
  return attention;
}

// In f64.
struct Expected {
  std::vector<double> weights;
  std::vector<double> gradient;
  std::vector<double> destinations_gradient;
};

double SumOfScores(const Attention& attention, uint32_t i, uint32_t e,
                   uint32_t h) {
  // In f32, so that rounding does not change which slope counts.
  return attention.sources[attention.lists.indices[e] * attention.heads + h] +
         attention.destinations[i * attention.heads + h];
}

void ComputeHead(const Attention& attention, uint32_t i, uint32_t h,
                 Expected* expected) {
  const uint32_t begin = attention.lists.indptr[i];
  const uint32_t end = attention.lists.indptr[i + 1];
  double total = 0;
  double mean = 0;
  for (uint32_t e = begin; e < end; ++e) {
    const double sum = SumOfScores(attention, i, e, h);
    double& weight = expected->weights[e * attention.heads + h];
    weight = std::exp(sum < 0 ? 0.2 * sum : sum);
    total += weight;
  }
  for (uint32_t e = begin; e < end; ++e) {
    const size_t at = e * attention.heads + h;
    expected->weights[at] /= total;
    mean += expected->weights[at] * double{attention.gradient[at]};
  }
  double& sum = expected->destinations_gradient[i * attention.heads + h];
  for (uint32_t e = begin; e < end; ++e) {
    const size_t at = e * attention.heads + h;
    const double slope = SumOfScores(attention, i, e, h) < 0 ? 0.2 : 1;
    expected->gradient[at] =
        expected->weights[at] * (double{attention.gradient[at]} - mean) * slope;
    sum += expected->gradient[at];
  }
}

Expected Compute(const Attention& attention) {
  Expected expected;
  expected.weights.resize(attention.gradient.size());
  expected.gradient.resize(attention.gradient.size());
  expected.destinations_gradient.resize(attention.destinations.size());
  for (uint32_t i = 0; i < attention.lists.size(); ++i) {
    for (uint32_t h = 0; h < attention.heads; ++h) {
      ComputeHead(attention, i, h, &expected);
    }
  }
  return expected;
}

struct Results {
  std::vector<float> weights;
  std::vector<float> gradient;
  std::vector<float> destinations_gradient;
};

Results OnGpu(const Attention& attention, uint64_t interleaving) {
  TestGpu gpu(interleaving);
  EdgeSoftmaxArgs args;
  args.indptr = gpu.Put(attention.lists.indptr);
  args.indices = gpu.Put(attention.lists.indices);
  args.num_lists = attention.lists.size();
  args.heads = attention.heads;
  args.sources = gpu.Put(attention.sources);
  args.destinations = gpu.Put(attention.destinations);
  args.weights = gpu.Room<float>(attention.gradient.size());
  auto* const gradient = gpu.Put(attention.gradient);
  auto* const of_destinations = gpu.Room<float>(attention.destinations.size());
  EXPECT_EQ(LaunchEdgeSoftmax(args, gpu.stream()), cudaSuccess);
  EXPECT_EQ(LaunchGradientOfEdgeSoftmax(args, gradient, of_destinations,
                                        gpu.stream()),
            cudaSuccess);
  return {gpu.Get(args.weights, attention.gradient.size()),
          gpu.Get(gradient, attention.gradient.size()),
          gpu.Get(of_destinations, attention.destinations.size())};
}

void ExpectNear(const std::vector<float>& got,
                const std::vector<double>& wanted) {
  ASSERT_EQ(got.size(), wanted.size());
  for (size_t i = 0; i < got.size(); ++i) {
    ASSERT_NEAR(double{got[i]}, wanted[i], 1e-6) << i;
  }
}

void ExpectAttention(const Attention& attention, uint64_t interleaving = 0) {
  const Expected expected = Compute(attention);
  const Results results = OnGpu(attention, interleaving);
  ExpectNear(results.weights, expected.weights);
  ExpectNear(results.gradient, expected.gradient);
  ExpectNear(results.destinations_gradient, expected.destinations_gradient);
}

TEST(CudaEdgeSoftmaxTest, AgreesWithF64AtAnySize) {
  for (const uint32_t lists : {0, 1, 31, 32, 33}) {
    for (const uint32_t heads : {1, 3, 4, 8, 17, 32, 33, 100}) {
      SCOPED_TRACE(absl::StrCat(lists, " lists, ", heads, " heads"));
      ExpectAttention(MakeAttention(RandomSizes(lists, 12, heads), heads, 1));
    }
  }
}

TEST(CudaEdgeSoftmaxTest, TakesHubs) {
  ExpectAttention(MakeAttention({0, 300, 1, 31, 32, 33, 64, 65}, 2, 2));
}

TEST(CudaEdgeSoftmaxTest, HasTheSameBitsInAnyOrderOfThreads) {
  const Attention attention = MakeAttention(RandomSizes(40, 40, 3), 4, 3);
  const Results first = OnGpu(attention, 0);
  ExpectAttention(attention);
  for (uint64_t seed = 1; seed < kInterleavings; ++seed) {
    const Results results = OnGpu(attention, seed);
    EXPECT_EQ(results.weights, first.weights);
    EXPECT_EQ(results.gradient, first.gradient);
    EXPECT_EQ(results.destinations_gradient, first.destinations_gradient);
  }
}

TEST(CudaEdgeSoftmaxTest, DoesNotOverflow) {
  const Attention attention = MakeAttention({20}, 1, 4, 1e30F);
  for (const float weight : OnGpu(attention, 0).weights) {
    EXPECT_GE(weight, 0);
    EXPECT_LE(weight, 1);
  }
}

TEST(CudaEdgeSoftmaxTest, KeepsNanInItsList) {
  Attention attention = MakeAttention({5, 5}, 1, 5);
  attention.destinations[1] = std::numeric_limits<float>::quiet_NaN();
  const std::vector<float> weights = OnGpu(attention, 0).weights;
  EXPECT_TRUE(std::none_of(weights.begin(), weights.begin() + 5,
                           [](float weight) { return std::isnan(weight); }));
  EXPECT_TRUE(std::all_of(weights.begin() + 5, weights.end(),
                          [](float weight) { return std::isnan(weight); }));
}

}  // namespace
}  // namespace fgnn
