#include "trainer_service/nn/cuda/kernels/neighbor_sums.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/unit/trainer_service/nn/cuda/kernels/random_lists.h"
#include "tests/unit/trainer_service/test_gpu.h"

namespace fgnn {
namespace {

constexpr uint32_t kRows = 70;

// What is summed, on the host. Scales that are empty are not passed.
struct Sum {
  Lists lists;
  uint32_t columns = 1;
  std::vector<float> x;  // [kRows, columns]
  std::vector<float> entry_scales;
  std::vector<float> list_scales;
  std::vector<float> row_scales;
  std::vector<float> out_scales;
  std::vector<float> own_scales;
  float own = 1;
  uint32_t num_own = 0;
  std::vector<float> added;  // What `out` has before, or empty.
  Divisor divisor = Divisor::kOne;
  bool cuts_long_lists = true;
};

Sum MakeSum(const std::vector<uint32_t>& sizes, uint32_t columns,
            uint64_t seed) {
  Sum sum;
  sum.lists = RandomLists(sizes, kRows, seed);
  sum.columns = columns;
  sum.x = RandomFloats(uint64_t{kRows} * columns, seed + 1);
  return sum;
}

float ScaleAt(const std::vector<float>& scales, size_t i, float otherwise = 1) {
  return scales.empty() ? otherwise : scales[i];
}

// The sum of the entries [begin, end) of list i to `sum` in their order.
float AddEntries(const Sum& sum, uint32_t i, uint32_t begin, uint32_t end,
                 uint32_t c, float total) {
  for (uint32_t e = begin; e < end; ++e) {
    const uint32_t row = sum.lists.indices[e];
    const float scale =
        ScaleAt(sum.list_scales, i) *
        ScaleAt(sum.entry_scales, e, ScaleAt(sum.row_scales, row));
    const float product = scale * sum.x[row * sum.columns + c];
    total += product;
  }
  return total;
}

float ExpectedAt(const Sum& sum, uint32_t i, uint32_t c) {
  const uint32_t begin = sum.lists.indptr[i];
  const uint32_t end = sum.lists.indptr[i + 1];
  const bool scaled = !sum.entry_scales.empty() || !sum.row_scales.empty();
  const bool owns = i < sum.num_own;
  // A sum without scales begins with its first row.
  float total = !owns && (scaled || begin == end) ? 0.0F : -0.0F;
  if (!sum.added.empty()) total = sum.added[i * sum.columns + c];
  if (owns) {
    const float product =
        ScaleAt(sum.own_scales, i, sum.own) * sum.x[i * sum.columns + c];
    total += product;
  }
  const bool cuts = sum.cuts_long_lists && end - begin > kChunkEntries;
  const uint32_t chunk = cuts ? kChunkEntries : end - begin;
  total = AddEntries(sum, i, begin, begin + chunk, c, total);
  for (uint32_t at = begin + chunk; at < end; at += chunk) {
    total += AddEntries(sum, i, at, std::min(at + chunk, end), c,
                        scaled ? 0.0F : -0.0F);
  }
  const auto count = static_cast<float>(end - begin);
  float scale = 1;
  if (sum.divisor == Divisor::kCount && begin < end) scale = 1 / count;
  if (sum.divisor == Divisor::kCountAndOne) scale = 1 / (count + 1);
  return total * (scale * ScaleAt(sum.out_scales, i));
}

std::vector<float> Expected(const Sum& sum) {
  std::vector<float> expected;
  for (uint32_t i = 0; i < sum.lists.size(); ++i) {
    for (uint32_t c = 0; c < sum.columns; ++c) {
      expected.push_back(ExpectedAt(sum, i, c));
    }
  }
  return expected;
}

const float* PutScales(TestGpu* gpu, const std::vector<float>& scales) {
  return scales.empty() ? nullptr : gpu->Put(scales);
}

// Everything but x and out.
NeighborSumsArgs PutSum(const Sum& sum, TestGpu* gpu) {
  NeighborSumsArgs args;
  args.indptr = gpu->Put(sum.lists.indptr);
  args.indices = gpu->Put(sum.lists.indices);
  args.num_lists = sum.lists.size();
  args.columns = sum.columns;
  args.entry_scales = PutScales(gpu, sum.entry_scales);
  args.list_scales = PutScales(gpu, sum.list_scales);
  args.row_scales = PutScales(gpu, sum.row_scales);
  args.out_scales = PutScales(gpu, sum.out_scales);
  args.own_scales = PutScales(gpu, sum.own_scales);
  args.own = sum.own;
  args.num_own = sum.num_own;
  args.adds_to_out = !sum.added.empty();
  args.divisor = sum.divisor;
  if (!sum.cuts_long_lists) return args;
  const uint32_t entries = sum.lists.entries();
  args.long_lists.entries = entries;
  args.long_lists.counts = gpu->Room<uint32_t>(2);
  args.long_lists.lists = gpu->Room<LongList>(MostLongLists(entries));
  args.long_lists.chunks = gpu->Room<ListChunk>(MostChunks(entries));
  args.partials = gpu->Room<float>(uint64_t{MostChunks(entries)} * sum.columns);
  EXPECT_EQ(LaunchFindLongLists(args.indptr, args.num_lists, args.long_lists,
                                gpu->stream()),
            cudaSuccess);
  return args;
}

template <typename T>
void ExpectSameBits(const std::vector<T>& got, const std::vector<T>& wanted) {
  ASSERT_EQ(got.size(), wanted.size());
  for (size_t i = 0; i < got.size(); ++i) {
    ASSERT_EQ(std::memcmp(&got[i], &wanted[i], sizeof(T)), 0)
        << "number " << i << ": " << Widen(got[i]) << ", not "
        << Widen(wanted[i]);
  }
}

// Puts every third row into a table, and the others behind each other. A number
// of the table that is no row's is NaN.
template <typename Number>
void PutPlaced(const Sum& sum, const std::vector<Number>& x, Number nan,
               TestGpu* gpu, NeighborSumsArgs* args) {
  const size_t columns = sum.columns;
  std::vector<uint32_t> places;
  std::vector<Number> table(kRows * columns, nan);
  std::vector<Number> others;
  for (uint32_t row = 0; row < kRows; ++row) {
    const auto begin = x.begin() + static_cast<ptrdiff_t>(row * columns);
    const auto end = begin + static_cast<ptrdiff_t>(columns);
    if (row % 3 != 0) {
      places.push_back(kRows + static_cast<uint32_t>(others.size() / columns));
      others.insert(others.end(), begin, end);
      continue;
    }
    places.push_back(kRows - 1 - row);  // The last one is the first.
    std::copy(begin, end,
              table.begin() + static_cast<ptrdiff_t>(places[row] * columns));
  }
  args->x = gpu->Put(others);
  args->placed = {gpu->Put(places), gpu->Put(table), kRows};
}

void ExpectSums(const Sum& sum, bool placed, uint64_t interleaving) {
  TestGpu gpu(interleaving);
  NeighborSumsArgs args = PutSum(sum, &gpu);
  args.x = gpu.Put(sum.x);
  if (placed) PutPlaced(sum, sum.x, NAN, &gpu, &args);
  const uint64_t count = uint64_t{args.num_lists} * sum.columns;
  auto* const out =
      sum.added.empty() ? gpu.Room<float>(count) : gpu.Put(sum.added);
  args.out = out;
  ASSERT_EQ(LaunchNeighborSums(args, gpu.stream()), cudaSuccess);
  ExpectSameBits(gpu.Get(out, count), Expected(sum));
}

// Rows that lie behind each other, and placed ones: their sums have the same
// bits.
void ExpectSums(const Sum& sum, uint64_t interleaving = 0) {
  for (const bool placed : {false, true}) {
    SCOPED_TRACE(placed);
    ExpectSums(sum, placed, interleaving);
  }
}

TEST(NeighborSumsTest, SumsAsAPlainLoopAtAnySize) {
  for (const uint32_t lists : {0, 1, 31, 32, 33}) {
    for (const uint32_t columns : {1, 3, 100, 256}) {
      SCOPED_TRACE(absl::StrCat(lists, " lists, ", columns, " columns"));
      Sum sum = MakeSum(RandomSizes(lists, 12, lists), columns, columns);
      ExpectSums(sum);
      sum.divisor = Divisor::kCount;
      ExpectSums(sum);
    }
  }
}

TEST(NeighborSumsTest, SumsListsOfEverySizeUpToTwoChunks) {
  std::vector<uint32_t> sizes;
  for (uint32_t size = 0; size <= 2 * kChunkEntries + 1; ++size) {
    sizes.push_back(size);
  }
  Sum sum = MakeSum(sizes, 5, 1);
  ExpectSums(sum);
  sum.cuts_long_lists = false;
  ExpectSums(sum);
}

TEST(NeighborSumsTest, AddsUpTheChunksOfHubsInTheirOrder) {
  for (uint64_t seed = 0; seed < kInterleavings; ++seed) {
    for (const uint32_t columns : {3, 132}) {
      SCOPED_TRACE(absl::StrCat("seed ", seed, ", ", columns, " columns"));
      std::vector<uint32_t> sizes = RandomSizes(40, 9, seed);
      sizes[3] = 65;
      sizes[17] = 1000;
      sizes[39] = 128;
      Sum sum = MakeSum(sizes, columns, seed);
      sum.num_own = 20;
      sum.own = 1.25F;
      sum.row_scales = RandomFloats(kRows, seed);
      sum.added = RandomFloats(sizes.size() * columns, seed + 2);
      sum.divisor = Divisor::kCount;
      ExpectSums(sum, seed);
    }
  }
}

// GIN, and GraphSAGE's mean with the own row.
TEST(NeighborSumsTest, BeginsWithTheOwnRow) {
  for (const Divisor divisor : {Divisor::kOne, Divisor::kCountAndOne}) {
    for (const uint32_t num_own : {0, 1, 20, 33}) {
      Sum sum = MakeSum(RandomSizes(33, 7, num_own), 33, num_own);
      sum.own = 1.125F;
      sum.num_own = num_own;
      sum.divisor = divisor;
      ExpectSums(sum);
      sum.own_scales = RandomFloats(num_own, 9);
      ExpectSums(sum);
    }
  }
}

// GCN forwards: every scale is a product.
TEST(NeighborSumsTest, ScalesListsAndRows) {
  Sum sum = MakeSum(RandomSizes(33, 10, 1), 100, 1);
  sum.row_scales = RandomFloats(kRows, 2);
  ExpectSums(sum);
  sum.list_scales = RandomFloats(33, 3);
  ExpectSums(sum);
  sum.num_own = 33;
  sum.own_scales = RandomFloats(33, 4);
  ExpectSums(sum);
  sum.out_scales = RandomFloats(33, 5);
  ExpectSums(sum);
}

TEST(NeighborSumsTest, ScalesEntriesBeforeRows) {
  Sum sum = MakeSum(RandomSizes(33, 10, 6), 3, 6);
  sum.entry_scales = RandomFloats(sum.lists.entries(), 7);
  ExpectSums(sum);
  sum.row_scales = RandomFloats(kRows, 8);
  ExpectSums(sum);
}

TEST(NeighborSumsTest, AddsToWhatIsThere) {
  Sum sum = MakeSum(RandomSizes(33, 10, 2), 100, 2);
  sum.added = RandomFloats(33 * 100, 3);
  ExpectSums(sum);
  sum.num_own = 10;
  ExpectSums(sum);
}

TEST(NeighborSumsTest, SumsNothingButOwnRows) {
  Sum sum = MakeSum(std::vector<uint32_t>(33, 0), 4, 1);
  ExpectSums(sum);
  sum.num_own = 33;
  ExpectSums(sum);
}

// Rows of bfloat16 are summed as floats.
TEST(NeighborSumsTest, WidensBfloat16AndRoundsItsSums) {
  for (const uint32_t columns : {1, 2, 3, 4, 100, 128, 264}) {
    SCOPED_TRACE(columns);
    Sum sum = MakeSum(RandomSizes(33, 80, columns), columns, columns);
    const std::vector<Bfloat16> x = Rounded(sum.x);
    sum.x = Widened(x);
    sum.divisor = Divisor::kCount;
    for (const bool scaled : {false, true}) {
      if (scaled) sum.row_scales = RandomFloats(kRows, 3);
      const std::vector<float> wanted = Expected(sum);
      TestGpu gpu;
      NeighborSumsArgs args = PutSum(sum, &gpu);
      args.type = FeatureType::kBfloat16;
      args.x = gpu.Put(x);
      auto* const floats = gpu.Room<float>(wanted.size());
      args.out = floats;
      ASSERT_EQ(LaunchNeighborSums(args, gpu.stream()), cudaSuccess);
      ExpectSameBits(gpu.Get(floats, wanted.size()), wanted);
      auto* const rounded = gpu.Room<Bfloat16>(wanted.size());
      args.out = rounded;
      args.out_type = FeatureType::kBfloat16;
      ASSERT_EQ(LaunchNeighborSums(args, gpu.stream()), cudaSuccess);
      ExpectSameBits(gpu.Get(rounded, wanted.size()), Rounded(wanted));
      PutPlaced(sum, x, Bfloat16{0x7fff}, &gpu, &args);
      args.out = gpu.Room<Bfloat16>(wanted.size());
      ASSERT_EQ(LaunchNeighborSums(args, gpu.stream()), cudaSuccess);
      ExpectSameBits(
          gpu.Get(static_cast<const Bfloat16*>(args.out), wanted.size()),
          Rounded(wanted));
      args.out_type = FeatureType::kFloat32;
      EXPECT_EQ(LaunchNeighborSums(args, gpu.stream()), cudaErrorInvalidValue);
    }
  }
}

TEST(NeighborSumsTest, RefusesTypesAndPlacesThatItCannotRead) {
  TestGpu gpu;
  const Sum sum = MakeSum({1, 2}, 4, 1);
  NeighborSumsArgs good = PutSum(sum, &gpu);
  good.x = gpu.Put(sum.x);
  good.out = gpu.Room<float>(16);
  EXPECT_EQ(LaunchNeighborSums(good, gpu.stream()), cudaSuccess);
  NeighborSumsArgs bad = good;
  bad.columns = 0;
  EXPECT_EQ(LaunchNeighborSums(bad, gpu.stream()), cudaErrorInvalidValue);
  bad = good;
  bad.x = static_cast<const float*>(good.x) + 1;
  EXPECT_EQ(LaunchNeighborSums(bad, gpu.stream()), cudaErrorInvalidValue);
  bad = good;
  PutPlaced(sum, sum.x, 0.0F, &gpu, &bad);
  EXPECT_EQ(LaunchNeighborSums(bad, gpu.stream()), cudaSuccess);
  bad.placed.table = static_cast<const float*>(bad.placed.table) + 1;
  EXPECT_EQ(LaunchNeighborSums(bad, gpu.stream()), cudaErrorInvalidValue);
  bad = good;
  bad.type = FeatureType::kFloat16;
  EXPECT_EQ(LaunchNeighborSums(bad, gpu.stream()), cudaErrorInvalidValue);
  bad = good;
  bad.out_type = FeatureType::kBfloat16;
  EXPECT_EQ(LaunchNeighborSums(bad, gpu.stream()), cudaErrorInvalidValue);
  bad.type = FeatureType::kBfloat16;
  bad.adds_to_out = true;
  EXPECT_EQ(LaunchNeighborSums(bad, gpu.stream()), cudaErrorInvalidValue);
}

}  // namespace
}  // namespace fgnn
