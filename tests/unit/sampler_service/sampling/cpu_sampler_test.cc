#include "sampler_service/sampling/cpu/cpu_sampler.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <set>

#include "absl/strings/str_cat.h"
#include "tests/unit/sampler_service/sampling/algorithm_jobs.h"
#include "tests/unit/sampler_service/sampling/sampler_case.h"

namespace fgnn {
namespace {

using reference::CscGraph;
using reference::Job;
using reference::RandomGraph;
using reference::RandomTrainSet;

TEST(CpuSamplerTest, ThreadsThatShareAJobMakeTheBatchesOfOne) {
  constexpr uint64_t kNumBatches = 64;
  const CscGraph graph = RandomGraph(2000, 11);
  Job job = RandomJob(2000, 11);
  job.options.fanouts = {10, 5};
  const std::vector<uint32_t> alone = DigestsOf(graph, job, kNumBatches, 1);
  EXPECT_EQ(DigestsOf(graph, job, kNumBatches, 4), alone);
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

// Each edge of the last hop lies at its place. `differ`: no place is drawn
// twice.
void ExpectPlaces(const CscView& graph, const TaskView& task,
                  absl::Span<const EdgeOffset> places, bool differ) {
  const auto indices = std::get<absl::Span<const uint32_t>>(graph.indices);
  const BlockView& last = task.hops[static_cast<size_t>(task.num_hops) - 1];
  ASSERT_EQ(places.size(), last.indices.size());
  for (uint32_t v = 0; v < last.num_destinations; ++v) {
    const GlobalId vertex = task.input_nodes[v];
    std::set<EdgeOffset> seen;
    for (uint32_t e = last.indptr[v]; e < last.indptr[v + 1]; ++e) {
      ASSERT_GE(places[e], graph.indptr[vertex]);
      ASSERT_LT(places[e], graph.indptr[vertex + 1]);
      EXPECT_EQ(indices[static_cast<size_t>(places[e])],
                task.input_nodes[last.indices[e]]);
      EXPECT_TRUE(seen.insert(places[e]).second || !differ);
    }
  }
}

// Small and large fanouts are drawn in other ways.
TEST(CpuSamplerTest, PlacesOfEdgesAreThoseThatWereDrawn) {
  const CscGraph graph = RandomGraph(700, 5);
  const CscView view = graph.view();
  for (const bool weighted : {false, true}) {
    for (const bool resample : {false, true}) {
      for (const bool replace : {false, true}) {
        for (const std::vector<int32_t>& fanouts :
             {std::vector<int32_t>{3, 4}, {-1, 2}, {70, 3, 2}}) {
          Job job = RandomJob(700, 5);
          job.options.fanouts = fanouts;
          job.options.resample = resample;
          job.options.replace = replace;
          if (weighted) {
            job.options.algorithm = SamplingAlgorithm::kWeighted;
            job.weights = RandomWeights(graph, 5);
          }
          SamplerCase sampling(graph, job);
          const uint32_t digest = sampling.Sample(BatchSeq(2))->digest;
          ASSERT_TRUE(sampling.sampler().KeepEdgePlaces());
          for (uint64_t seq = 0; seq < 4; ++seq) {
            const TaskView task = sampling.Task(BatchSeq(seq));
            if (seq == 2) {
              EXPECT_EQ(task.digest, digest);
            }
            ExpectPlaces(view, task, sampling.sampler().edge_places(),
                         !replace);
          }
        }
      }
    }
  }
}

TEST(CpuSamplerTest, SeedsMayComeInTheOrderOfTheTrainSet) {
  const CscGraph graph = RandomGraph(500, 3);
  Job job;
  job.train = RandomTrainSet(500, 3);
  job.train.resize(40);
  job.options.batch_size = 16;
  job.options.fanouts = {2};
  job.options.shuffle = false;
  SamplerCase sampling(graph, job);
  for (uint64_t epoch = 0; epoch < 2; ++epoch) {
    std::vector<int64_t> order;
    for (uint64_t batch = 0; batch < 3; ++batch) {
      const TaskView task = sampling.Task(BatchSeq(epoch * 3 + batch));
      order.insert(order.end(), task.seeds().begin(), task.seeds().end());
    }
    EXPECT_EQ(order, job.train);
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

TEST(CpuSamplerTest, RefusesWrongOptionsByName) {
  const CscGraph graph = RandomGraph(10, 1);
  const std::vector<int64_t> train = {1, 2};
  const auto refusal = [&](SamplerOptions options,
                           absl::Span<const int64_t> t) {
    return NewCpuSampler({graph.view(), t}, options).status();
  };
  EXPECT_THAT(refusal({.fanouts = {}}, train),
              InvalidArgument("sampling.fanouts"));
  EXPECT_THAT(refusal({.fanouts = {5, 0}}, train), InvalidArgument("holds 0"));
  EXPECT_THAT(refusal({.fanouts = {-2}}, train), InvalidArgument("holds -2"));
  EXPECT_THAT(refusal({.fanouts = {65536}}, train), InvalidArgument("65536"));
  EXPECT_THAT(refusal({.fanouts = std::vector<int32_t>(9, 1)}, train),
              InvalidArgument("9 hops"));
  EXPECT_THAT(refusal({.fanouts = {5}, .batch_size = 0}, train),
              InvalidArgument("batch_size"));
  EXPECT_THAT(refusal({.fanouts = {5}}, {}), InvalidArgument("train"));
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
  EXPECT_THAT(marked->MarkBy({absl::MakeConstSpan(ranks).first(499), 77}),
              InvalidArgument("499 hot ranks"));
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
  FGNN_ASSERT_OK(refusal(indptr, narrow, train));
  EXPECT_THAT(refusal({0, 9, 4}, narrow, train),
              InvalidArgument("csc_indptr.npy"));
  EXPECT_THAT(refusal({0, -1, 4}, narrow, train),
              InvalidArgument("csc_indptr.npy"));
  EXPECT_THAT(refusal({0, 2, 5}, narrow, train), InvalidArgument("csc_indptr"));
  EXPECT_THAT(refusal(indptr, narrow, {0, 0}), InvalidArgument("twice"));
  EXPECT_THAT(refusal(indptr, narrow, {0, 2}),
              InvalidArgument("vertex 1 of a split is 2, but"));
  EXPECT_THAT(refusal(indptr, narrow, {-1, 0}),
              InvalidArgument("vertex 0 of a split is -1, but"));
  const std::vector<uint32_t> too_large = {0, 1, 2, 0};
  EXPECT_THAT(
      refusal(indptr, {indptr, absl::Span<const uint32_t>(too_large)}, train),
      InvalidArgument("indices.npy: element 2 is 2, but"));
  const std::vector<int64_t> negative = {0, 1, -1, 0};
  EXPECT_THAT(
      refusal(indptr, {indptr, absl::Span<const int64_t>(negative)}, train),
      InvalidArgument("indices.npy: element 2 is -1, but"));
  const std::vector<int64_t> beyond = {0, 1, int64_t{1} << 32, 0};
  EXPECT_THAT(
      refusal(indptr, {indptr, absl::Span<const int64_t>(beyond)}, train),
      InvalidArgument("indices.npy: element 2 is 4294967296, but"));
}

}  // namespace
}  // namespace fgnn
