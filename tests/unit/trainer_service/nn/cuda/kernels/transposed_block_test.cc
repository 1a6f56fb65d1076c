#include "trainer_service/nn/cuda/kernels/transposed_block.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/unit/trainer_service/nn/cuda/kernels/random_lists.h"
#include "tests/unit/trainer_service/test_gpu.h"

namespace fgnn {
namespace {

struct Transposed {
  std::vector<uint32_t> indptr;
  std::vector<uint32_t> indices;
  std::vector<uint32_t> entries;
  std::vector<float> inverse_degrees;
};

Transposed Expected(const Lists& lists, uint32_t num_sources, bool counts_own) {
  std::vector<std::vector<uint32_t>> destinations(num_sources);
  std::vector<std::vector<uint32_t>> entries(num_sources);
  Transposed expected;
  for (uint32_t d = 0; d < lists.size(); ++d) {
    for (uint32_t e = lists.indptr[d]; e < lists.indptr[d + 1]; ++e) {
      destinations[lists.indices[e]].push_back(d);
      entries[lists.indices[e]].push_back(e);
    }
    const auto count =
        static_cast<float>(lists.indptr[d + 1] - lists.indptr[d]) +
        (counts_own ? 1.0F : 0.0F);
    expected.inverse_degrees.push_back(count > 0 ? 1 / count : 0);
  }
  expected.indptr.push_back(0);
  for (uint32_t s = 0; s < num_sources; ++s) {
    expected.indices.insert(expected.indices.end(), destinations[s].begin(),
                            destinations[s].end());
    expected.entries.insert(expected.entries.end(), entries[s].begin(),
                            entries[s].end());
    expected.indptr.push_back(static_cast<uint32_t>(expected.indices.size()));
  }
  return expected;
}

void ExpectTransposed(const Lists& lists, uint32_t num_sources,
                      uint64_t interleaving = 0, bool counts_own = false) {
  TestGpu gpu(interleaving);
  const uint32_t entries = lists.entries();
  TransposeArgs args;
  args.indptr = gpu.Put(lists.indptr);
  args.indices = gpu.Put(lists.indices);
  args.num_destinations = lists.size();
  args.num_sources = num_sources;
  args.entries = entries;
  args.counts_own = counts_own;
  args.out_indptr = gpu.Room<uint32_t>(num_sources + 1);
  args.out_indices = gpu.Room<uint32_t>(entries);
  args.out_entries = gpu.Room<uint32_t>(entries);
  args.inverse_degrees = gpu.Room<float>(lists.size());
  args.workspace = gpu.Room<uint32_t>(TransposeWords(num_sources, entries));
  ASSERT_EQ(LaunchTranspose(args, gpu.stream()), cudaSuccess);
  const Transposed expected = Expected(lists, num_sources, counts_own);
  EXPECT_EQ(gpu.Get(args.out_indptr, num_sources + 1), expected.indptr);
  EXPECT_EQ(gpu.Get(args.out_indices, entries), expected.indices);
  EXPECT_EQ(gpu.Get(args.out_entries, entries), expected.entries);
  EXPECT_EQ(gpu.Get(args.inverse_degrees, lists.size()),
            expected.inverse_degrees);
}

TEST(TransposedBlockTest, ListsTheDestinationsOfEachSourceInTheirOrder) {
  for (const uint32_t destinations : {0, 1, 31, 32, 33}) {
    for (const uint32_t sources : {1, 31, 32, 33, 300}) {
      SCOPED_TRACE(absl::StrCat(destinations, " of ", sources));
      ExpectTransposed(
          RandomLists(RandomSizes(destinations, 9, sources), sources, 1),
          sources);
    }
  }
}

TEST(TransposedBlockTest, CountsDestinationsThemselves) {
  ExpectTransposed(RandomLists({3, 0, 1, 70}, 9, 1), 9, 0,
                   /*counts_own=*/true);
}

TEST(TransposedBlockTest, DoesNotDependOnTheOrderOfThreads) {
  for (uint64_t seed = 0; seed < kInterleavings; ++seed) {
    SCOPED_TRACE(seed);
    ExpectTransposed(RandomLists(RandomSizes(700, 10, seed), 900, seed), 900,
                     seed);
  }
}

// Tiles have 2048 entries.
TEST(TransposedBlockTest, SortsTilesThatAreFullOrNearlyFull) {
  for (const uint32_t entries : {2047, 2048, 2049, 6200}) {
    SCOPED_TRACE(entries);
    ExpectTransposed(
        RandomLists(std::vector<uint32_t>(entries, 1), 50, entries), 50);
    ExpectTransposed(RandomLists({0, entries, 0}, 50, entries), 50);
  }
}

TEST(TransposedBlockTest, SortsInSeveralPasses) {
  for (const uint32_t sources : {1024U, 1025U, (1U << 20) + 1}) {
    SCOPED_TRACE(sources);
    Lists lists = RandomLists(RandomSizes(500, 10, 3), sources, sources);
    if (lists.entries() > 0) lists.indices.back() = sources - 1;
    ExpectTransposed(lists, sources);
  }
}

TEST(TransposedBlockTest, TakesAHubThatEveryDestinationHas) {
  Lists lists = RandomLists(std::vector<uint32_t>(3000, 2), 2000, 4);
  for (size_t e = 0; e < lists.indices.size(); e += 2) lists.indices[e] = 7;
  ExpectTransposed(lists, 2000);
}

}  // namespace
}  // namespace fgnn
