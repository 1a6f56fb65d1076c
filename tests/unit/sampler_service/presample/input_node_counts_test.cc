#include "sampler_service/presample/input_node_counts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <numeric>

#include "sampler_service/sampling/cpu/cpu_sampler.h"
#include "sampler_service/sampling/input_node_tally.h"
#include "tests/fakes/rounds.h"
#include "tests/fakes/status_matchers.h"
#include "tests/unit/sampler_service/sampling/algorithm_jobs.h"

namespace fgnn {
namespace {

using reference::CscGraph;
using reference::Job;
using reference::RandomGraph;
using testing::Each;
using testing::ElementsAreArray;

std::vector<uint32_t> ReferenceCounts(const CscGraph& graph, const Job& job,
                                      const BatchRange& batches) {
  std::vector<uint32_t> counts(graph.lists().size());
  for (BatchSeq seq = batches.begin; seq < batches.end; ++seq) {
    const reference::Batch batch =
        reference::SampleBatch(graph.lists(), job, seq.value());
    for (const uint32_t v : batch.input_nodes) ++counts[v];
  }
  return counts;
}

// Counts that exist; no vertices if they do not.
std::vector<uint32_t> Count(const SamplerCase& sampling, BatchRange batches,
                            uint32_t num_threads) {
  const auto counts = CountInputNodes(sampling.input(), sampling.job().options,
                                      {.batches = batches,
                                       .num_threads = num_threads,
                                       .factory = NewCpuSampler,
                                       .check = nullptr});
  EXPECT_THAT(counts, IsOk());
  return counts.ok() ? *counts : std::vector<uint32_t>();
}

class InputNodeCountsTest : public testing::TestWithParam<Algorithm> {};

// The graphs have isolated vertices, self-loops, multi-edges and hubs.
TEST_P(InputNodeCountsTest, EqualReferenceForAnyThreadsAndAnySplit) {
  for (uint64_t seed = 0; seed < Rounds(12); ++seed) {
    SCOPED_TRACE(absl::StrCat("seed=", seed));
    const CscGraph graph =
        RandomGraph(1 + static_cast<uint32_t>(seed * 29 % 200), seed);
    const SamplerCase sampling(graph, RandomJobOf(GetParam(), graph, seed),
                               /*wide=*/seed % 2 == 1);
    // Across an epoch's end.
    const BatchSeq begin(seed % 3);
    const BatchRange all = {begin, begin + sampling.batches_per_epoch() + 3};
    const std::vector<uint32_t> expected =
        ReferenceCounts(graph, sampling.job(), all);
    for (const uint32_t num_threads : {0, 1, 3}) {
      EXPECT_THAT(Count(sampling, all, num_threads),
                  ElementsAreArray(expected));
    }
    const BatchSeq middle = all.begin + (all.end - all.begin) / 3;
    std::vector<uint32_t> sum = Count(sampling, {all.begin, middle}, 1);
    const std::vector<uint32_t> rest = Count(sampling, {middle, all.end}, 3);
    ASSERT_EQ(sum.size(), rest.size());
    for (size_t v = 0; v < sum.size(); ++v) sum[v] += rest[v];
    EXPECT_THAT(sum, ElementsAreArray(expected));
  }
}

INSTANTIATE_TEST_SUITE_P(All, InputNodeCountsTest,
                         testing::ValuesIn(Algorithms()),
                         [](const auto& test) { return test.param.name; });

// What a back end does that has no way of its own to count.
TEST_P(InputNodeCountsTest, WholeBatchesAreCountedAlike) {
  const CscGraph graph = RandomGraph(150, 7);
  const SamplerCase sampling(graph, RandomJobOf(GetParam(), graph, 7));
  const BatchRange all = {BatchSeq(0), BatchSeq(sampling.batches_per_epoch())};
  FGNN_ASSERT_OK_AND_ASSIGN(
      const std::unique_ptr<Sampler> sampler,
      NewCpuSampler(sampling.input(), sampling.job().options));
  FGNN_ASSERT_OK_AND_ASSIGN(InputNodeTally tally, InputNodeTally::Create(150));
  struct alignas(64) Line {
    std::byte bytes[64];
  };
  std::vector<Line> block(1 << 14);
  for (BatchSeq seq = all.begin; seq < all.end; ++seq) {
    ASSERT_THAT(
        sampler->Sampler::Tally(
            seq, {block.front().bytes, block.size() * sizeof(Line)}, &tally),
        IsOk());
  }
  std::vector<uint32_t> counts(150);
  tally.AddTo(absl::MakeSpan(counts));
  EXPECT_THAT(counts,
              ElementsAreArray(ReferenceCounts(graph, sampling.job(), all)));
}

TEST(InputNodeCountsTest, NoBatchesCountNothing) {
  const CscGraph graph = RandomGraph(50, 3);
  const SamplerCase sampling(graph, RandomJob(50, 3));
  const std::vector<uint32_t> counts =
      Count(sampling, {BatchSeq(4), BatchSeq(4)}, 2);
  EXPECT_EQ(counts.size(), 50U);
  EXPECT_THAT(counts, Each(0));
}

// Tasks of 3 MB, where the first block has 1 MB.
TEST(InputNodeCountsTest, BlocksGrowAsBatchesNeedIt) {
  constexpr uint32_t kNumNodes = 900;
  reference::AdjacencyLists lists(kNumNodes);
  for (std::vector<uint32_t>& list : lists) {
    list.resize(kNumNodes);
    std::iota(list.begin(), list.end(), 0);
  }
  const CscGraph graph(std::move(lists));
  Job job;
  job.train = {5};
  job.options.fanouts = {-1, -1};
  const SamplerCase sampling(graph, job);
  EXPECT_THAT(Count(sampling, {BatchSeq(0), BatchSeq(2)}, 2), Each(2));
}

TEST(InputNodeCountsTest, RefusesARangeThatEndsBeforeItBegins) {
  const CscGraph graph = RandomGraph(50, 3);
  const SamplerCase sampling(graph, RandomJob(50, 3));
  EXPECT_THAT(CountInputNodes(sampling.input(), sampling.job().options,
                              {.batches = {BatchSeq(2), BatchSeq(1)},
                               .num_threads = 1,
                               .factory = NewCpuSampler,
                               .check = nullptr}),
              InvalidArgument("begin at 2"));
}

TEST(InputNodeCountsTest, TheFirstErrorOfACheckEndsAllThreads) {
  const CscGraph graph = RandomGraph(50, 3);
  const SamplerCase sampling(graph, RandomJob(50, 3));
  std::atomic<int> num_checks = 0;
  EXPECT_THAT(
      CountInputNodes(sampling.input(), sampling.job().options,
                      // Would never end.
                      {.batches = {BatchSeq(0), BatchSeq(uint64_t{1} << 50)},
                       .num_threads = 3,
                       .factory = NewCpuSampler,
                       .check =
                           [&] {
                             return ++num_checks < 20
                                        ? absl::OkStatus()
                                        : absl::CancelledError("job is over");
                           }}),
      StatusIs(absl::StatusCode::kCancelled, "job is over"));
}

TEST(InputNodeCountsTest, AFactorysErrorIsTheCounts) {
  const CscGraph graph = RandomGraph(50, 3);
  const SamplerCase sampling(graph, RandomJob(50, 3));
  const SamplerFactory factory = [](const SamplerInput&,
                                    const SamplerOptions&) {
    return absl::UnavailableError("no device");
  };
  EXPECT_THAT(CountInputNodes(sampling.input(), sampling.job().options,
                              {.batches = {BatchSeq(0), BatchSeq(5)},
                               .num_threads = 2,
                               .factory = factory,
                               .check = nullptr}),
              StatusIs(absl::StatusCode::kUnavailable, "no device"));
}

}  // namespace
}  // namespace fgnn
