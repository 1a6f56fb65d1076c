#include "sampler_service/sampling/cpu/cpu_sampler.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <set>
#include <thread>

#include "absl/strings/str_cat.h"
#include "tests/fakes/rounds.h"
#include "tests/unit/sampler_service/sampling/sampler_case.h"

namespace fgnn {
namespace {

using reference::CscGraph;
using reference::Job;
using reference::RandomGraph;
using reference::RandomTrainSet;
using testing::HasSubstr;

TEST(CpuSamplerTest, EqualsReferenceForHundredsOfRandomGraphsAndJobs) {
  for (uint64_t seed = 0; seed < Rounds(300); ++seed) {
    SCOPED_TRACE(absl::StrCat("seed=", seed));
    const uint32_t num_nodes = 1 + static_cast<uint32_t>(seed * 7 % 400);
    const CscGraph graph = RandomGraph(num_nodes, seed);
    const Job job = RandomJob(num_nodes, seed);
    const bool wide = seed % 2 == 1;
    SamplerCase sampling(graph, job, wide);
    const uint64_t per_epoch = sampling.batches_per_epoch();
    for (const uint64_t seq : {uint64_t{0}, per_epoch - 1, 3 * per_epoch}) {
      sampling.ExpectLikeReference(BatchSeq(seq));
    }
    if (testing::Test::HasFailure()) break;
  }
}

TEST(CpuSamplerTest, EqualsReferenceAroundEveryLimitOfTheDraws) {
  // Degrees and fanouts on both sides of each other, of a lane group and of
  // the largest fanout that lanes take.
  reference::AdjacencyLists lists(150);
  for (uint32_t v = 0; v < lists.size(); ++v) {
    for (uint32_t i = 0; i < v; ++i) lists[v].push_back((v * 31 + i) % 150);
  }
  const CscGraph graph(lists);
  Job job;
  for (int64_t v = 0; v < 150; ++v) job.train.push_back(v);
  job.options.batch_size = 150;
  for (const int32_t fanout : {1, 2, 15, 16, 17, 63, 64, 65, 66, 149, 150}) {
    SCOPED_TRACE(absl::StrCat("fanout=", fanout));
    job.options.fanouts = {fanout, 3};
    SamplerCase(graph, job).ExpectLikeReference(BatchSeq(0));
  }
}

TEST(CpuSamplerTest, EveryInstructionSetDrawsTheSame) {
  const CscGraph graph = RandomGraph(300, 5);
  Job job = RandomJob(300, 5);
  job.options.fanouts = {15, 10, 5};
  for (const LaneFunctions& named : SupportedDrawLanes()) {
    SCOPED_TRACE(named.name);
    SamplerCase sampling(graph, job, /*wide=*/false, named);
    for (BatchSeq seq(0); seq < BatchSeq(5); ++seq) {
      sampling.ExpectLikeReference(seq);
    }
  }
}

TEST(CpuSamplerTest, ThreadsThatShareAJobMakeTheBatchesOfOne) {
  constexpr uint64_t kNumBatches = 64;
  const CscGraph graph = RandomGraph(2000, 11);
  Job job = RandomJob(2000, 11);
  job.options.fanouts = {10, 5};
  const auto digests_of = [&](unsigned num_threads) {
    std::vector<uint32_t> digests(kNumBatches);
    std::vector<std::thread> threads;
    for (unsigned t = 0; t < num_threads; ++t) {
      threads.emplace_back([&, t] {
        SamplerCase sampling(graph, job);
        for (uint64_t seq = t; seq < kNumBatches; seq += num_threads) {
          const auto sampled = sampling.Sample(BatchSeq(seq));
          ASSERT_THAT(sampled, IsOk());
          digests[seq] = sampled->digest;
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
    return digests;
  };
  const std::vector<uint32_t> alone = digests_of(1);
  EXPECT_EQ(digests_of(4), alone);
  EXPECT_EQ(std::set<uint32_t>(alone.begin(), alone.end()).size(), kNumBatches);
}

TEST(CpuSamplerTest, AHubOfAMillionIsDrawnFromLikeAnyOther) {
  reference::AdjacencyLists lists(1'000'001);
  lists[0].resize(1'000'000);
  for (uint32_t i = 0; i < 1'000'000; ++i) lists[0][i] = i + 1;
  const CscGraph graph(std::move(lists));
  Job job;
  job.train = {0};
  for (const int32_t fanout : {5, 64, 65535}) {
    SCOPED_TRACE(absl::StrCat("fanout=", fanout));
    job.options.fanouts = {fanout};
    SamplerCase sampling(graph, job);
    const TaskView task = sampling.Task(BatchSeq(0));
    // Neighbours differ, so as many vertices as edges says: no place twice.
    ASSERT_EQ(task.num_edges(), static_cast<uint64_t>(fanout));
    EXPECT_EQ(task.input_nodes.size(), static_cast<uint64_t>(fanout) + 1);
  }
}

// How often each place of an adjacency list is drawn, over many epochs.
TEST(CpuSamplerTest, EveryPlaceIsDrawnEquallyOften) {
  constexpr uint64_t kNumEpochs = 20000;
  struct Case {
    uint32_t degree;
    int32_t fanout;
    double limit;  // Of chi-square of degree - 1 degrees at 1e-6.
  };
  for (const Case& c :
       {Case{2, 1, 23.93}, Case{7, 3, 38.26}, Case{16, 15, 56.49},
        Case{50, 10, 111.1}, Case{100, 70, 180.8}}) {
    SCOPED_TRACE(absl::StrCat("degree=", c.degree, " fanout=", c.fanout));
    reference::AdjacencyLists lists(c.degree + 1);
    for (uint32_t i = 1; i <= c.degree; ++i) lists[0].push_back(i);
    const CscGraph graph(lists);
    Job job;
    job.train = {0};
    job.options.fanouts = {c.fanout};
    SamplerCase sampling(graph, job);
    std::vector<uint64_t> drawn(c.degree + 1);
    for (uint64_t epoch = 0; epoch < kNumEpochs; ++epoch) {
      const TaskView task = sampling.Task(BatchSeq(epoch));
      ASSERT_EQ(task.input_nodes.size(), static_cast<size_t>(c.fanout) + 1);
      for (const uint32_t v : task.input_nodes.subspan(1)) ++drawn[v];
    }
    const double p = static_cast<double>(c.fanout) / c.degree;
    const double expected = kNumEpochs * p;
    double chi_square = 0;
    for (uint32_t v = 1; v <= c.degree; ++v) {
      const double off = static_cast<double>(drawn[v]) - expected;
      chi_square += off * off / expected;
    }
    // Draws without replacement vary less than a multinomial: scaled so that
    // the limit of independent draws is the right one.
    chi_square *= (c.degree - 1.0) / c.degree / (1 - p);
    EXPECT_LT(chi_square, c.limit);
  }
}

TEST(CpuSamplerTest, AnEpochsSeedsAreThePermutedTrainSet) {
  const CscGraph graph = RandomGraph(500, 3);
  Job job;
  job.train = RandomTrainSet(500, 3);
  job.train.resize(100);
  job.options.batch_size = 16;
  job.options.fanouts = {2};
  ASSERT_NE(job.train.size() % 16, 0U);
  SamplerCase sampling(graph, job);
  const uint64_t per_epoch = sampling.batches_per_epoch();
  std::vector<int64_t> order[2];
  for (uint64_t epoch = 0; epoch < 2; ++epoch) {
    for (uint64_t batch = 0; batch < per_epoch; ++batch) {
      const TaskView task = sampling.Task(BatchSeq(epoch * per_epoch + batch));
      EXPECT_EQ(task.num_seeds,
                batch + 1 < per_epoch ? 16 : job.train.size() % 16);
      order[epoch].insert(order[epoch].end(), task.seeds().begin(),
                          task.seeds().end());
    }
    EXPECT_THAT(order[epoch], testing::UnorderedElementsAreArray(job.train));
  }
  EXPECT_NE(order[0], order[1]);
}

TEST(CpuSamplerTest, ABlockTooSmallIsRefusedAndALargerOneGivesTheSame) {
  const CscGraph graph = RandomGraph(400, 21);
  Job job = RandomJob(400, 21);
  job.options.fanouts = {10, 10};
  job.options.job_key = kJobKey;
  FGNN_ASSERT_OK_AND_ASSIGN(
      const auto sampler,
      NewCpuSampler({graph.view(), job.train}, job.options));
  TaskBlock large(MaxTaskBytesOf(graph.view(), job.options));
  FGNN_ASSERT_OK_AND_ASSIGN(const SampledTask whole,
                            sampler->Sample(BatchSeq(0), large.span()));
  for (uint64_t bytes = 0; bytes < whole.bytes;
       bytes += std::max<uint64_t>(64, whole.bytes / 40)) {
    TaskBlock small(bytes);
    ASSERT_THAT(sampler->Sample(BatchSeq(0), small.span()),
                StatusIs(absl::StatusCode::kResourceExhausted));
  }
  TaskBlock exact(whole.bytes);
  FGNN_ASSERT_OK_AND_ASSIGN(const SampledTask again,
                            sampler->Sample(BatchSeq(0), exact.span()));
  EXPECT_EQ(again.digest, whole.digest);
  EXPECT_EQ(again.bytes, whole.bytes);
}

TEST(CpuSamplerTest, RefusesWrongOptionsByName) {
  const CscGraph graph = RandomGraph(10, 1);
  const std::vector<int64_t> train = {1, 2};
  const auto refusal = [&](SamplerOptions options,
                           absl::Span<const int64_t> t) {
    return NewCpuSampler({graph.view(), t}, options).status();
  };
  const auto invalid = absl::StatusCode::kInvalidArgument;
  EXPECT_THAT(refusal({.fanouts = {}}, train),
              StatusIs(invalid, HasSubstr("sampling.fanouts")));
  EXPECT_THAT(refusal({.fanouts = {5, 0}}, train),
              StatusIs(invalid, HasSubstr("holds 0")));
  EXPECT_THAT(refusal({.fanouts = {-2}}, train),
              StatusIs(invalid, HasSubstr("holds -2")));
  EXPECT_THAT(refusal({.fanouts = {65536}}, train),
              StatusIs(invalid, HasSubstr("65536")));
  EXPECT_THAT(refusal({.fanouts = std::vector<int32_t>(9, 1)}, train),
              StatusIs(invalid, HasSubstr("9 hops")));
  EXPECT_THAT(refusal({.fanouts = {5}, .batch_size = 0}, train),
              StatusIs(invalid, HasSubstr("batch_size")));
  EXPECT_THAT(refusal({.fanouts = {5}}, {}),
              StatusIs(invalid, HasSubstr("train")));
}

TEST(CpuSamplerTest, MarksInputNodesWithoutChangingTheBatch) {
  const CscGraph graph = RandomGraph(500, 3);
  std::vector<int64_t> train(100);
  std::iota(train.begin(), train.end(), 0);
  const SamplerOptions options = {
      .fanouts = {5, 5}, .batch_size = 30, .job_key = kJobKey};
  std::vector<uint32_t> ranks(500);
  for (uint32_t v = 0; v < 500; ++v) ranks[v] = v * 7 % 500;
  const SamplerInput input{.graph = graph.view(), .train = train};
  FGNN_ASSERT_OK_AND_ASSIGN(const auto plain, NewCpuSampler(input, options));
  FGNN_ASSERT_OK_AND_ASSIGN(const auto marked, NewCpuSampler(input, options));
  FGNN_ASSERT_OK(marked->MarkBy({ranks, 77}));
  TaskBlock block(MaxTaskBytesOf(graph.view(), options));
  for (BatchSeq seq(0); seq < BatchSeq(6); ++seq) {
    FGNN_ASSERT_OK_AND_ASSIGN(const SampledTask expected,
                              plain->Sample(seq, block.span()));
    FGNN_ASSERT_OK_AND_ASSIGN(const TaskView before,
                              ReadTask(block.span(), kJobKey));
    EXPECT_TRUE(before.hot_rank.empty());
    EXPECT_EQ(before.rank_order_version, 0U);
    FGNN_ASSERT_OK_AND_ASSIGN(const SampledTask sampled,
                              marked->Sample(seq, block.span()));
    EXPECT_EQ(sampled.digest, expected.digest);
    FGNN_ASSERT_OK_AND_ASSIGN(const TaskView task,
                              ReadTask(block.span(), kJobKey));
    EXPECT_EQ(task.rank_order_version, 77U);
    ASSERT_EQ(task.hot_rank.size(), task.input_nodes.size());
    for (size_t i = 0; i < task.hot_rank.size(); ++i) {
      ASSERT_EQ(task.hot_rank[i], ranks[task.input_nodes[i]]);
    }
  }
  EXPECT_THAT(
      marked->MarkBy({absl::MakeConstSpan(ranks).first(499), 77}),
      StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("499 hot ranks")));
}

// A folder may change under a daemon that did not validate it itself.
TEST(CpuSamplerTest, RefusesADamagedDatasetWithoutReadingOutsideIt) {
  const std::vector<int64_t> indptr = {0, 2, 4};
  const std::vector<uint32_t> indices = {0, 1, 1, 0};
  const std::vector<int64_t> train = {0, 1};
  const SamplerOptions options = {.fanouts = {3}, .batch_size = 2};
  TaskBlock block(4096);
  const auto refusal = [&](std::vector<int64_t> ptr, CscView view,
                           std::vector<int64_t> t) {
    view.indptr = ptr;
    auto sampler = NewCpuSampler({view, t}, options);
    if (!sampler.ok()) return sampler.status();
    return (*sampler)->Sample(BatchSeq(0), block.span()).status();
  };
  const CscView narrow{indptr, absl::Span<const uint32_t>(indices)};
  const auto invalid = absl::StatusCode::kInvalidArgument;
  FGNN_ASSERT_OK(refusal(indptr, narrow, train));
  EXPECT_THAT(refusal({0, 9, 4}, narrow, train),
              StatusIs(invalid, HasSubstr("csc_indptr.npy")));
  EXPECT_THAT(refusal({0, -1, 4}, narrow, train),
              StatusIs(invalid, HasSubstr("csc_indptr.npy")));
  EXPECT_THAT(refusal({0, 2, 5}, narrow, train),
              StatusIs(invalid, HasSubstr("csc_indptr")));
  EXPECT_THAT(refusal(indptr, narrow, {0, 0}),
              StatusIs(invalid, HasSubstr("twice")));
  EXPECT_THAT(refusal(indptr, narrow, {0, 2}),
              StatusIs(invalid, HasSubstr("vertex 1 of a split is 2, but")));
  EXPECT_THAT(refusal(indptr, narrow, {-1, 0}),
              StatusIs(invalid, HasSubstr("vertex 0 of a split is -1, but")));
  const std::vector<uint32_t> too_large = {0, 1, 2, 0};
  EXPECT_THAT(
      refusal(indptr, {indptr, absl::Span<const uint32_t>(too_large)}, train),
      StatusIs(invalid, HasSubstr("indices.npy: element 2 is 2, but")));
  const std::vector<int64_t> negative = {0, 1, -1, 0};
  EXPECT_THAT(
      refusal(indptr, {indptr, absl::Span<const int64_t>(negative)}, train),
      StatusIs(invalid, HasSubstr("indices.npy: element 2 is -1, but")));
  const std::vector<int64_t> beyond = {0, 1, int64_t{1} << 32, 0};
  EXPECT_THAT(
      refusal(indptr, {indptr, absl::Span<const int64_t>(beyond)}, train),
      StatusIs(invalid,
               HasSubstr("indices.npy: element 2 is 4294967296, but")));
}

}  // namespace
}  // namespace fgnn
