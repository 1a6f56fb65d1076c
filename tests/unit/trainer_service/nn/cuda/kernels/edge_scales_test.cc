#include "trainer_service/nn/cuda/kernels/edge_scales.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <random>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/unit/trainer_service/nn/cuda/kernels/random_lists.h"
#include "tests/unit/trainer_service/nn/small_model.h"
#include "tests/unit/trainer_service/test_gpu.h"

namespace fgnn {
namespace {

// The law of the CPU, in its order. Without weights all weigh the same.
std::vector<float> Expected(const Lists& lists,
                            const std::vector<float>& weights) {
  std::vector<float> scales;
  for (uint32_t i = 0; i < lists.size(); ++i) {
    float sum = 0;
    for (uint32_t e = lists.indptr[i]; e < lists.indptr[i + 1]; ++e) {
      sum += weights.empty() ? 1 : weights[e];
    }
    for (uint32_t e = lists.indptr[i]; e < lists.indptr[i + 1]; ++e) {
      const float weight = weights.empty() ? 1 : weights[e];
      scales.push_back(sum > 0 ? weight / sum : 0);
    }
  }
  return scales;
}

std::vector<float> OnGpu(const Lists& lists, const std::vector<float>& weights,
                         uint64_t interleaving = 0) {
  TestGpu gpu(interleaving);
  EdgeScalesArgs args;
  args.indptr = gpu.Put(lists.indptr);
  args.num_lists = lists.size();
  if (!weights.empty()) args.weights = gpu.Put(weights);
  args.scales = gpu.Room<float>(lists.entries());
  EXPECT_EQ(LaunchEdgeScales(args, gpu.stream()), cudaSuccess);
  return gpu.Get(args.scales, lists.entries());
}

// Numbers of visits. Those of every fifth list are 0.
std::vector<float> Visits(const Lists& lists, uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<float> visits;
  for (uint32_t i = 0; i < lists.size(); ++i) {
    for (uint32_t e = lists.indptr[i]; e < lists.indptr[i + 1]; ++e) {
      visits.push_back(i % 5 == 4 ? 0 : static_cast<float>(random() % 9));
    }
  }
  return visits;
}

TEST(EdgeScalesTest, AreTheCpusForAnyNumberOfLists) {
  for (const uint32_t count : {0, 1, 31, 32, 33}) {
    SCOPED_TRACE(absl::StrCat(count, " lists"));
    const Lists lists = RandomLists(RandomSizes(count, 12, count), 1, 1);
    const std::vector<float> visits = Visits(lists, count);
    EXPECT_TRUE(SameBits(OnGpu(lists, visits), Expected(lists, visits)));
    EXPECT_TRUE(SameBits(OnGpu(lists, {}), Expected(lists, {})));
  }
}

TEST(EdgeScalesTest, AreTheCpusForListsOfAnySize) {
  const Lists lists =
      RandomLists({31, 0, 1, 32, 33, 63, 64, 65, 1000, 2}, 1, 1);
  const std::vector<float> visits = Visits(lists, 3);
  for (uint64_t seed = 0; seed < kInterleavings; ++seed) {
    EXPECT_TRUE(SameBits(OnGpu(lists, visits, seed), Expected(lists, visits)));
  }
  EXPECT_TRUE(SameBits(OnGpu(lists, {}), Expected(lists, {})));
}

// Sums of other weights depend on the order.
TEST(EdgeScalesTest, AreCloseForWeightsThatAreNoWholeNumbers) {
  const Lists lists = RandomLists({5, 100, 33}, 1, 1);
  std::vector<float> weights = RandomFloats(lists.entries(), 2);
  for (float& weight : weights) weight += 1;
  const std::vector<float> expected = Expected(lists, weights);
  const std::vector<float> got = OnGpu(lists, weights);
  ASSERT_EQ(got.size(), expected.size());
  for (size_t e = 0; e < got.size(); ++e) {
    EXPECT_NEAR(got[e], expected[e], 1e-6 * expected[e]) << e;
  }
}

// Each size has another order of threads.
TEST(GatherFloatsTest, TakesNumbersFromTheirPlaces) {
  uint64_t interleaving = 0;
  for (const uint32_t count : {0, 1, 31, 32, 33, 600}) {
    const std::vector<float> from = RandomFloats(70, count);
    const Lists places = RandomLists({count}, 70, count);
    std::vector<float> expected;
    for (const uint32_t place : places.indices) {
      expected.push_back(from[place]);
    }
    TestGpu gpu(interleaving++ % kInterleavings);
    auto* const out = gpu.Room<float>(count);
    EXPECT_EQ(LaunchGatherFloats(gpu.Put(from), gpu.Put(places.indices), count,
                                 out, gpu.stream()),
              cudaSuccess);
    EXPECT_TRUE(SameBits(gpu.Get(out, count), expected)) << count;
  }
}

}  // namespace
}  // namespace fgnn
