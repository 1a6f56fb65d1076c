#include "trainer_service/nn/cuda/kernels/attention_rows.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/unit/trainer_service/nn/cuda/kernels/random_lists.h"
#include "tests/unit/trainer_service/test_gpu.h"
#include "trainer_service/nn/cuda/kernels/self_loops.h"

namespace fgnn {
namespace {

constexpr uint32_t kNumRows = 40;

// Numbers on the device: as they are, or rounded.
const void* PutNumbers(TestGpu* gpu, const std::vector<float>& numbers,
                       FeatureType type) {
  if (type == FeatureType::kFloat32) return gpu->Put(numbers);
  return gpu->Put(Rounded(numbers));
}

// What the device computes with.
std::vector<float> AsStored(const std::vector<float>& numbers,
                            FeatureType type) {
  return type == FeatureType::kFloat32 ? numbers : Widened(Rounded(numbers));
}

void ExpectNear(const std::vector<float>& found,
                const std::vector<double>& wanted, double tolerance) {
  ASSERT_EQ(found.size(), wanted.size());
  for (size_t i = 0; i < wanted.size(); ++i) {
    ASSERT_NEAR(found[i], wanted[i], tolerance * (1 + std::abs(wanted[i])))
        << "number " << i;
  }
}

// The product of columns [at, at + count) of two arrays.
double ProductOf(const std::vector<float>& a, size_t a_at,
                 const std::vector<float>& b, size_t b_at, size_t count) {
  double sum = 0;
  for (size_t c = 0; c < count; ++c) {
    sum += double{a[a_at + c]} * double{b[b_at + c]};
  }
  return sum;
}

struct Shape {
  HeadColumns heads;
  FeatureType type;
  uint32_t width() const { return heads.heads * heads.columns; }
};

std::vector<Shape> Shapes() {
  std::vector<Shape> shapes;
  for (const FeatureType type :
       {FeatureType::kFloat32, FeatureType::kBfloat16}) {
    for (const HeadColumns heads : {HeadColumns{1, 1}, HeadColumns{1, 150},
                                    HeadColumns{3, 5}, HeadColumns{8, 32}}) {
      shapes.push_back({heads, type});
    }
  }
  return shapes;
}

// Each size has another order of threads, as below.
TEST(AttentionRowsTest, MultipliesRowsWithTwoVectors) {
  uint64_t interleaving = 0;
  for (const Shape& shape : Shapes()) {
    for (const uint32_t rows : {0U, 1U, 31U, 32U, 33U}) {
      SCOPED_TRACE(absl::StrCat(shape.heads.heads, " heads, ", rows, " rows"));
      TestGpu gpu(interleaving++ % kInterleavings);
      const uint32_t other_rows = rows / 2;
      const auto x = RandomFloats(uint64_t{rows} * shape.width(), 1);
      const auto vector = RandomFloats(shape.width(), 2);
      const auto other_vector = RandomFloats(shape.width(), 3);
      const uint32_t heads = shape.heads.heads;
      HeadProductsArgs args;
      args.shape = shape.heads;
      args.rows = rows;
      args.type = shape.type;
      args.x = PutNumbers(&gpu, x, shape.type);
      args.vector = gpu.Put(vector);
      args.out = gpu.Room<float>(uint64_t{rows} * heads);
      args.other_rows = other_rows;
      args.other_vector = gpu.Put(other_vector);
      args.other_out = gpu.Room<float>(uint64_t{other_rows} * heads);
      ASSERT_EQ(LaunchHeadProducts(args, gpu.stream()), cudaSuccess);
      const auto stored = AsStored(x, shape.type);
      const auto wanted = [&](uint32_t count, const std::vector<float>& with) {
        std::vector<double> products;
        const size_t columns = shape.heads.columns;
        for (size_t i = 0; i < size_t{count} * heads; ++i) {
          products.push_back(ProductOf(stored, i * columns, with,
                                       i % heads * columns, columns));
        }
        return products;
      };
      ExpectNear(gpu.Get(args.out, uint64_t{rows} * heads),
                 wanted(rows, vector), 1e-5);
      ExpectNear(gpu.Get(args.other_out, uint64_t{other_rows} * heads),
                 wanted(other_rows, other_vector), 1e-5);
    }
  }
}

TEST(AttentionRowsTest, MultipliesTheRowsOfBothEndsOfAnEntry) {
  const std::vector<std::vector<uint32_t>> all_sizes = {
      {}, {1}, {0, 0, 3, 0, 1, 70, 0}, {31}, {32}, RandomSizes(33, 5, 4)};
  uint64_t interleaving = 0;
  for (const Shape& shape : Shapes()) {
    for (const std::vector<uint32_t>& sizes : all_sizes) {
      SCOPED_TRACE(
          absl::StrCat(shape.heads.heads, " heads, ", sizes.size(), " lists"));
      TestGpu gpu(interleaving++ % kInterleavings);
      const Lists lists = RandomLists(sizes, kNumRows, 9);
      const auto list_rows = RandomFloats(sizes.size() * shape.width(), 1);
      const auto rows = RandomFloats(uint64_t{kNumRows} * shape.width(), 2);
      const uint32_t heads = shape.heads.heads;
      EntryProductsArgs args;
      args.shape = shape.heads;
      args.indptr = gpu.Put(lists.indptr);
      args.indices = gpu.Put(lists.indices);
      args.num_lists = lists.size();
      args.entries = lists.entries();
      args.type = shape.type;
      args.list_rows = PutNumbers(&gpu, list_rows, shape.type);
      args.rows = PutNumbers(&gpu, rows, shape.type);
      args.out = gpu.Room<float>(uint64_t{args.entries} * heads);
      ASSERT_EQ(LaunchEntryProducts(args, gpu.stream()), cudaSuccess);
      const auto stored_list_rows = AsStored(list_rows, shape.type);
      const auto stored_rows = AsStored(rows, shape.type);
      std::vector<double> wanted;
      for (uint32_t i = 0; i < lists.size(); ++i) {
        for (uint32_t e = lists.indptr[i]; e < lists.indptr[i + 1]; ++e) {
          for (uint32_t h = 0; h < heads; ++h) {
            const size_t at = size_t{h} * shape.heads.columns;
            wanted.push_back(ProductOf(
                stored_list_rows, i * shape.width() + at, stored_rows,
                lists.indices[e] * shape.width() + at, shape.heads.columns));
          }
        }
      }
      ExpectNear(gpu.Get(args.out, uint64_t{args.entries} * heads), wanted,
                 1e-5);
    }
  }
}

// Sums over lists whose entries have their weights elsewhere, with scored
// vectors; `few` of the lists have the second.
void ExpectHeadSums(const Shape& shape, const std::vector<uint32_t>& sizes,
                    FeatureType out_type, uint64_t interleaving) {
  TestGpu gpu(interleaving);
  const Lists lists = RandomLists(sizes, kNumRows, 9);
  const Lists places = RandomLists(sizes, kNumRows, 10);
  const uint32_t heads = shape.heads.heads;
  const auto x = RandomFloats(uint64_t{kNumRows} * shape.width(), 1);
  const auto weights = RandomFloats(uint64_t{kNumRows} * heads, 2);
  const auto scores = RandomFloats(sizes.size() * heads, 3);
  const auto vector = RandomFloats(shape.width(), 4);
  const uint32_t few = lists.size() / 2;
  HeadSumsArgs args;
  args.shape = shape.heads;
  args.indptr = gpu.Put(lists.indptr);
  args.indices = gpu.Put(lists.indices);
  args.places = gpu.Put(places.indices);
  args.num_lists = lists.size();
  args.type = shape.type;
  args.x = PutNumbers(&gpu, x, shape.type);
  args.weights = gpu.Put(weights);
  args.second = {few, gpu.Put(scores), gpu.Put(vector)};
  args.out_type = out_type;
  const uint64_t count = sizes.size() * shape.width();
  const bool rounds = out_type == FeatureType::kBfloat16;
  auto* const floats = gpu.Room<float>(count);
  auto* const numbers = gpu.Room<Bfloat16>(count);
  args.out = rounds ? static_cast<void*>(numbers) : floats;
  ASSERT_EQ(LaunchHeadSums(args, gpu.stream()), cudaSuccess);
  const auto stored = AsStored(x, shape.type);
  std::vector<double> wanted;
  for (uint32_t i = 0; i < lists.size(); ++i) {
    for (uint32_t c = 0; c < shape.width(); ++c) {
      const uint32_t head = c / shape.heads.columns;
      double sum = i < few ? double{scores[i * heads + head]} * vector[c] : 0;
      for (uint32_t e = lists.indptr[i]; e < lists.indptr[i + 1]; ++e) {
        sum += double{weights[places.indices[e] * heads + head]} *
               stored[lists.indices[e] * shape.width() + c];
      }
      wanted.push_back(sum);
    }
  }
  ExpectNear(rounds ? Widened(gpu.Get(numbers, count)) : gpu.Get(floats, count),
             wanted, rounds ? 0.01 : 1e-5);
}

TEST(AttentionRowsTest, SumsListsHeadByHead) {
  for (const Shape& shape : Shapes()) {
    for (const uint32_t lists : {0U, 1U, 31U, 32U, 33U}) {
      SCOPED_TRACE(absl::StrCat(shape.heads.heads, " heads, ", lists));
      const std::vector<uint32_t> sizes = RandomSizes(lists, 9, lists);
      ExpectHeadSums(shape, sizes, FeatureType::kFloat32, 0);
      ExpectHeadSums(shape, sizes, shape.type, 0);
    }
  }
  for (uint64_t seed = 0; seed < kInterleavings; ++seed) {
    ExpectHeadSums({{3, 5}, FeatureType::kFloat32}, {5, 0, 300, 1},
                   FeatureType::kFloat32, seed);
  }
}

TEST(AttentionRowsTest, RefusesWhatItDoesNotHave) {
  TestGpu gpu;
  HeadSumsArgs sums;
  sums.out_type = FeatureType::kBfloat16;
  EXPECT_EQ(LaunchHeadSums(sums, gpu.stream()), cudaErrorInvalidValue);
  HeadProductsArgs products;
  products.shape.heads = 0;
  EXPECT_EQ(LaunchHeadProducts(products, gpu.stream()), cudaErrorInvalidValue);
  EntryProductsArgs entries;
  entries.type = FeatureType::kFloat16;
  EXPECT_EQ(LaunchEntryProducts(entries, gpu.stream()), cudaErrorInvalidValue);
}

TEST(SelfLoopsTest, PutsDestinationsBeforeTheirNeighbours) {
  const std::vector<std::vector<uint32_t>> all_sizes = {{},
                                                        {0},
                                                        {1},
                                                        {0, 3, 0, 70, 1},
                                                        RandomSizes(31, 9, 3),
                                                        RandomSizes(32, 9, 4),
                                                        RandomSizes(33, 9, 5),
                                                        RandomSizes(300, 9, 6)};
  uint64_t interleaving = 0;
  for (const std::vector<uint32_t>& sizes : all_sizes) {
    SCOPED_TRACE(sizes.size());
    TestGpu gpu(interleaving++ % kInterleavings);
    const Lists lists = RandomLists(sizes, kNumRows, 3);
    Lists wanted;
    for (uint32_t i = 0; i < lists.size(); ++i) {
      wanted.indices.push_back(i);
      wanted.indices.insert(wanted.indices.end(),
                            lists.indices.begin() + lists.indptr[i],
                            lists.indices.begin() + lists.indptr[i + 1]);
      wanted.indptr.push_back(wanted.entries());
    }
    SelfLoopsArgs args;
    args.indptr = gpu.Put(lists.indptr);
    args.indices = gpu.Put(lists.indices);
    args.num_destinations = lists.size();
    args.entries = lists.entries();
    args.out_indptr = gpu.Room<uint32_t>(wanted.indptr.size());
    args.out_indices = gpu.Room<uint32_t>(wanted.entries());
    ASSERT_EQ(LaunchAddSelfLoops(args, gpu.stream()), cudaSuccess);
    EXPECT_EQ(gpu.Get(args.out_indptr, wanted.indptr.size()), wanted.indptr);
    EXPECT_EQ(gpu.Get(args.out_indices, wanted.entries()), wanted.indices);
  }
}

}  // namespace
}  // namespace fgnn
