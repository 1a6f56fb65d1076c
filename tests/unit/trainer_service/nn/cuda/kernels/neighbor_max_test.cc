#include "trainer_service/nn/cuda/kernels/neighbor_max.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/unit/trainer_service/nn/cuda/kernels/random_lists.h"
#include "tests/unit/trainer_service/nn/small_model.h"
#include "tests/unit/trainer_service/test_gpu.h"
#include "trainer_service/nn/cpu/messages/message_passing.h"
#include "trainer_service/nn/cpu/messages/neighbor_aggregation.h"

namespace fgnn {
namespace {

constexpr uint32_t kRows = 70;

// What lists make of rows, and the gradient of these.
struct Largest {
  std::vector<float> rows;      // [lists, columns]
  std::vector<float> gradient;  // [kRows, columns]
};

// Not negative, with many zeros and many that are equal.
std::vector<float> RandomMessages(uint32_t columns, uint64_t seed) {
  std::vector<float> messages = RandomFloats(uint64_t{kRows} * columns, seed);
  for (float& message : messages) {
    message = std::max(std::round(4 * message) / 4, 0.0F);
  }
  return messages;
}

template <typename Number>
std::vector<Number> AsNumbers(const std::vector<float>& floats) {
  if constexpr (sizeof(Number) == 4) {
    return floats;
  } else {
    return Rounded(floats);
  }
}

BlockView BlockOf(const Lists& lists) {
  BlockView block;
  block.num_destinations = lists.size();
  block.num_sources = kRows;
  block.indptr = lists.indptr;
  block.indices = lists.indices;
  return block;
}

template <typename Number>
Largest OnCpu(const Lists& lists, uint32_t columns,
              const std::vector<Number>& messages,
              const std::vector<Number>& gradient) {
  const BlockView block = BlockOf(lists);
  const auto aggregation =
      MakeNeighborAggregation<Number>(Aggregator::kMax, columns);
  Largest largest;
  largest.rows.resize(uint64_t{lists.size()} * columns);
  largest.gradient.resize(uint64_t{kRows} * columns);
  aggregation->Start(block);
  aggregation->ForwardRows(block, 0, lists.size(), messages.data(),
                           largest.rows.data());
  aggregation->StartBackward(block);
  aggregation->BackwardRows(0, kRows, gradient.data(), largest.gradient.data());
  return largest;
}

// Finds the long lists of arguments.
template <typename Args>
void CutLongLists(uint32_t entries, TestGpu* gpu, Args* args) {
  args->long_lists.entries = entries;
  args->long_lists.counts = gpu->Room<uint32_t>(2);
  args->long_lists.lists = gpu->Room<LongList>(MostLongLists(entries));
  args->long_lists.chunks = gpu->Room<ListChunk>(MostChunks(entries));
  args->partials =
      gpu->Room<float>(uint64_t{MostChunks(entries)} * args->columns);
  EXPECT_EQ(LaunchFindLongLists(args->indptr, args->num_lists, args->long_lists,
                                gpu->stream()),
            cudaSuccess);
}

template <typename Number>
constexpr FeatureType kTypeOf = sizeof(Number) == 4 ? FeatureType::kFloat32
                                                    : FeatureType::kBfloat16;

// Arguments with room for what is asked.
template <typename Number>
NeighborMaxArgs PutLists(const Lists& lists, uint32_t columns,
                         const std::vector<Number>& messages, bool cuts,
                         TestGpu* gpu) {
  NeighborMaxArgs args;
  args.indptr = gpu->Put(lists.indptr);
  args.indices = gpu->Put(lists.indices);
  args.num_lists = lists.size();
  args.columns = columns;
  args.type = kTypeOf<Number>;
  args.x = gpu->Put(messages);
  const uint64_t count = uint64_t{lists.size()} * columns;
  args.out = gpu->Room<Number>(count);
  args.winners = gpu->Room<uint32_t>(count);
  if (!cuts) return args;
  CutLongLists(lists.entries(), gpu, &args);
  args.partial_winners =
      gpu->Room<uint32_t>(uint64_t{MostChunks(lists.entries())} * columns);
  return args;
}

template <typename Number>
std::vector<float> LargestOf(const NeighborMaxArgs& args, TestGpu* gpu) {
  EXPECT_EQ(LaunchNeighborMax(args, gpu->stream()), cudaSuccess);
  std::vector<float> largest;
  for (const Number number :
       gpu->Get(static_cast<const Number*>(args.out),
                uint64_t{args.num_lists} * args.columns)) {
    largest.push_back(Widen(number));
  }
  return largest;
}

// The transposed lists, by the CPU.
Lists Transposed(const Lists& lists) {
  TransposedBlock transposed;
  transposed.Build(BlockOf(lists));
  const RowLists rows = transposed.lists();
  Lists result;
  result.indptr.assign(rows.indptr, rows.indptr + kRows + 1);
  result.indices.assign(rows.indices, rows.indices + lists.entries());
  return result;
}

// Forwards and backwards, from the winners of the forward pass.
template <typename Number>
Largest OnGpu(const Lists& lists, uint32_t columns,
              const std::vector<Number>& messages,
              const std::vector<Number>& gradient, bool cuts,
              uint64_t interleaving = 0) {
  TestGpu gpu(interleaving);
  const NeighborMaxArgs forward =
      PutLists(lists, columns, messages, cuts, &gpu);
  Largest largest;
  largest.rows = LargestOf<Number>(forward, &gpu);
  const Lists transposed = Transposed(lists);
  WonSumsArgs args;
  args.indptr = gpu.Put(transposed.indptr);
  args.indices = gpu.Put(transposed.indices);
  args.num_lists = kRows;
  args.columns = columns;
  args.type = kTypeOf<Number>;
  args.x = gpu.Put(gradient);
  args.winners = forward.winners;
  args.out = gpu.Room<float>(uint64_t{kRows} * columns);
  if (cuts) CutLongLists(lists.entries(), &gpu, &args);
  EXPECT_EQ(LaunchWonSums(args, gpu.stream()), cudaSuccess);
  largest.gradient = gpu.Get(args.out, uint64_t{kRows} * columns);
  return largest;
}

// Without winners, as for inference.
template <typename Number>
std::vector<float> LargestAlone(const Lists& lists, uint32_t columns,
                                const std::vector<Number>& messages,
                                bool cuts) {
  TestGpu gpu;
  NeighborMaxArgs args = PutLists(lists, columns, messages, cuts, &gpu);
  args.winners = args.partial_winners = nullptr;
  return LargestOf<Number>(args, &gpu);
}

// `exactly`: no transposed list is a long one, whose chunks are sums.
template <typename Number>
void ExpectAsOnCpu(const Lists& lists, uint32_t columns, bool exactly,
                   uint64_t interleaving = 0) {
  const auto messages = AsNumbers<Number>(RandomMessages(columns, columns));
  const auto gradient = AsNumbers<Number>(
      RandomFloats(uint64_t{lists.size()} * columns, columns + 1));
  const Largest expected = OnCpu(lists, columns, messages, gradient);
  for (const bool cuts : {false, true}) {
    const Largest largest =
        OnGpu(lists, columns, messages, gradient, cuts, interleaving);
    EXPECT_TRUE(SameBits(largest.rows, expected.rows));
    EXPECT_TRUE(
        SameBits(LargestAlone(lists, columns, messages, cuts), expected.rows));
    const std::vector<float>& got = largest.gradient;
    if (exactly || !cuts) {
      EXPECT_TRUE(SameBits(got, expected.gradient));
      continue;
    }
    ASSERT_EQ(got.size(), expected.gradient.size());
    for (size_t i = 0; i < got.size(); ++i) {
      ASSERT_NEAR(got[i], expected.gradient[i], 1e-5) << i;
    }
  }
}

TEST(NeighborMaxTest, HasTheCpusBitsAtAnySize) {
  for (const uint32_t count : {0, 1, 31, 32, 33}) {
    for (const uint32_t columns : {1, 2, 3, 4, 100}) {
      SCOPED_TRACE(absl::StrCat(count, " lists, ", columns, " columns"));
      const Lists lists = RandomLists(RandomSizes(count, 9, count), kRows, 1);
      ExpectAsOnCpu<float>(lists, columns, /*exactly=*/true);
      ExpectAsOnCpu<Bfloat16>(lists, columns, /*exactly=*/true);
    }
  }
}

// Lists of every size, many that name a row several times in turn, hubs.
TEST(NeighborMaxTest, TakesLongListsChunkByChunk) {
  Lists lists =
      RandomLists({31, 32, 33, 63, 64, 65, 127, 128, 129, 1000, 0}, kRows, 2);
  for (size_t e = 2; e < lists.indices.size(); e += 3) {
    lists.indices[e] = lists.indices[e - 1];
  }
  // Row 3 is in all of many lists, twice.
  for (int i = 0; i < 150; ++i) {
    lists.indices.insert(lists.indices.end(), {3, 3});
    lists.indptr.push_back(lists.entries());
  }
  for (uint64_t seed = 0; seed < kInterleavings; ++seed) {
    ExpectAsOnCpu<float>(lists, 5, /*exactly=*/false, seed);
  }
  ExpectAsOnCpu<float>(lists, 132, /*exactly=*/false);
  ExpectAsOnCpu<Bfloat16>(lists, 8, /*exactly=*/false);
}

TEST(NeighborMaxTest, OfEqualNumbersTheFirstOfAllChunksCounts) {
  const Lists lists = RandomLists({300}, kRows, 3);
  const std::vector<float> ones(kRows, 1.0F);
  const std::vector<float> gradient =
      OnGpu<float>(lists, 1, ones, {2.0F}, /*cuts=*/true).gradient;
  for (uint32_t row = 0; row < kRows; ++row) {
    EXPECT_EQ(gradient[row], row == lists.indices[0] ? 2.0F : 0.0F) << row;
  }
}

TEST(NeighborMaxTest, KeepsNaNForWhoeverLooksForIt) {
  const Lists lists = RandomLists({200, 3}, kRows, 4);
  for (const uint32_t place : {0U, 100U, 199U}) {
    std::vector<float> messages(kRows, 5.0F);
    messages[lists.indices[place]] = std::numeric_limits<float>::quiet_NaN();
    for (const bool cuts : {false, true}) {
      const Largest largest =
          OnGpu<float>(lists, 1, messages, {1.0F, 1.0F}, cuts);
      EXPECT_TRUE(std::isnan(largest.rows[0])) << place;
    }
  }
}

TEST(NeighborMaxTest, RefusesTypesAndPlacesThatItCannotRead) {
  TestGpu gpu;
  const Lists lists = RandomLists({1, 2}, 4, 1);
  NeighborMaxArgs good;
  good.indptr = gpu.Put(lists.indptr);
  good.indices = gpu.Put(lists.indices);
  good.num_lists = 2;
  good.columns = 4;
  good.x = gpu.Put(std::vector<float>(16));
  good.out = gpu.Room<float>(8);
  EXPECT_EQ(LaunchNeighborMax(good, gpu.stream()), cudaSuccess);
  NeighborMaxArgs bad = good;
  bad.columns = 0;
  EXPECT_EQ(LaunchNeighborMax(bad, gpu.stream()), cudaErrorInvalidValue);
  bad = good;
  bad.type = FeatureType::kFloat16;
  EXPECT_EQ(LaunchNeighborMax(bad, gpu.stream()), cudaErrorInvalidValue);
  bad = good;
  bad.x = static_cast<const float*>(good.x) + 1;
  EXPECT_EQ(LaunchNeighborMax(bad, gpu.stream()), cudaErrorInvalidValue);
}

}  // namespace
}  // namespace fgnn
