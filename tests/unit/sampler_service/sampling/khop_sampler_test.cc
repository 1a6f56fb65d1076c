#include "sampler_service/sampling/cpu/khop_sampler.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <set>
#include <thread>

#include "absl/strings/str_cat.h"
#include "sampler_service/id_map/cpu/direct_id_map.h"
#include "tests/fakes/status_matchers.h"
#include "tests/reference/khop_reference.h"
#include "tests/reference/random_graph.h"

namespace fgnn {
namespace {

using reference::CscGraph;
using reference::KhopJob;
using reference::RandomGraph;
using reference::RandomTrainSet;
using testing::ElementsAreArray;
using testing::HasSubstr;

constexpr uint64_t kJobKey = 99;

struct AlignedFree {
  void operator()(std::byte* memory) const { std::free(memory); }
};

// Memory for a task, filled with rubbish.
class TaskBlock {
 public:
  explicit TaskBlock(uint64_t bytes)
      : bytes_(bytes),
        memory_(static_cast<std::byte*>(
            std::aligned_alloc(64, (bytes + 63) / 64 * 64))) {
    std::fill_n(memory_.get(), bytes, std::byte{0xa5});
  }
  absl::Span<std::byte> span() { return {memory_.get(), bytes_}; }

 private:
  uint64_t bytes_;
  std::unique_ptr<std::byte, AlignedFree> memory_;
};

SamplerOptions OptionsOf(const KhopJob& job) {
  return {.fanouts = job.fanouts,
          .batch_size = job.batch_size,
          .seed = job.seed,
          .job_key = kJobKey};
}

std::unique_ptr<Sampler> MakeSampler(const CscView& graph, const KhopJob& job) {
  auto sampler = NewCpuKhopSampler({graph, job.train}, OptionsOf(job));
  EXPECT_THAT(sampler, IsOk());
  return std::move(sampler).value();
}

void ExpectEqual(const TaskView& task, const reference::Batch& batch) {
  EXPECT_EQ(task.num_seeds, batch.num_seeds);
  EXPECT_THAT(task.input_nodes, ElementsAreArray(batch.input_nodes));
  ASSERT_EQ(static_cast<size_t>(task.num_hops), batch.hops.size());
  for (size_t h = 0; h < batch.hops.size(); ++h) {
    SCOPED_TRACE(absl::StrCat("hop=", h));
    EXPECT_EQ(task.hops[h].num_sources, batch.hops[h].num_sources);
    EXPECT_THAT(task.hops[h].indptr, ElementsAreArray(batch.hops[h].indptr));
    EXPECT_THAT(task.hops[h].indices, ElementsAreArray(batch.hops[h].indices));
  }
}

// Samples a batch and compares it with the reference.
void ExpectLikeReference(Sampler& sampler, const CscGraph& graph,
                         const KhopJob& job, BatchSeq seq) {
  TaskBlock block(MaxTaskBytesOf(graph.view(), OptionsOf(job)));
  FGNN_ASSERT_OK_AND_ASSIGN(const SampledTask sampled,
                            sampler.Sample(seq, block.span()));
  FGNN_ASSERT_OK_AND_ASSIGN(const TaskView task,
                            ReadTask(block.span(), kJobKey));
  EXPECT_EQ(task.seq, seq);
  EXPECT_EQ(sampled.digest, task.digest);
  EXPECT_EQ(sampled.num_edges, task.num_edges());
  EXPECT_EQ(sampled.num_seeds, task.num_seeds);
  EXPECT_EQ(sampled.num_input_nodes, task.input_nodes.size());
  EXPECT_LE(sampled.bytes, block.span().size());
  ExpectEqual(task, reference::SampleKhop(graph.lists(), job, seq));
}

KhopJob RandomJob(uint32_t num_nodes, uint64_t seed) {
  reference::TestDraws draws(seed + 2000);
  KhopJob job;
  job.train = RandomTrainSet(num_nodes, seed);
  job.batch_size = 1 + static_cast<uint32_t>(draws.Below(40));
  job.seed = draws.Below(1000);
  const uint64_t num_hops = 1 + draws.Below(3);
  for (uint64_t h = 0; h < num_hops; ++h) {
    const uint64_t kind = draws.Below(8);
    const auto small = static_cast<int32_t>(1 + draws.Below(20));
    const auto large = static_cast<int32_t>(50 + draws.Below(400));
    job.fanouts.push_back(kind == 0 ? -1 : kind == 1 ? large : small);
  }
  return job;
}

TEST(KhopSamplerTest, EqualsReferenceForHundredsOfRandomGraphsAndJobs) {
  for (uint64_t seed = 0; seed < 300; ++seed) {
    SCOPED_TRACE(absl::StrCat("seed=", seed));
    const uint32_t num_nodes = 1 + static_cast<uint32_t>(seed * 7 % 400);
    const CscGraph graph = RandomGraph(num_nodes, seed);
    const KhopJob job = RandomJob(num_nodes, seed);
    const bool wide = seed % 2 == 1;
    const auto sampler = MakeSampler(graph.view(wide), job);
    const uint64_t per_epoch =
        BatchesPerEpoch(job.train.size(), job.batch_size);
    for (const BatchSeq seq : {uint64_t{0}, per_epoch - 1, 3 * per_epoch}) {
      ExpectLikeReference(*sampler, graph, job, seq);
    }
    if (testing::Test::HasFailure()) break;
  }
}

TEST(KhopSamplerTest, EqualsReferenceAroundEveryLimitOfTheDraws) {
  // Degrees and fanouts on both sides of each other, of a lane group and of
  // the largest fanout that lanes take.
  reference::AdjacencyLists lists(150);
  for (uint32_t v = 0; v < lists.size(); ++v) {
    for (uint32_t i = 0; i < v; ++i) lists[v].push_back((v * 31 + i) % 150);
  }
  const CscGraph graph(lists);
  KhopJob job;
  for (int64_t v = 0; v < 150; ++v) job.train.push_back(v);
  job.batch_size = 150;
  for (const int32_t fanout : {1, 2, 15, 16, 17, 63, 64, 65, 66, 149, 150}) {
    SCOPED_TRACE(absl::StrCat("fanout=", fanout));
    job.fanouts = {fanout, 3};
    ExpectLikeReference(*MakeSampler(graph.view(), job), graph, job, 0);
  }
}

TEST(KhopSamplerTest, EveryInstructionSetDrawsTheSame) {
  const CscGraph graph = RandomGraph(300, 5);
  KhopJob job = RandomJob(300, 5);
  job.fanouts = {15, 10, 5};
  for (const NamedDrawLanes& named : SupportedDrawLanes()) {
    SCOPED_TRACE(named.name);
    FGNN_ASSERT_OK_AND_ASSIGN(std::unique_ptr<DirectIdMap> id_map,
                              DirectIdMap::Create(300, 300));
    FGNN_ASSERT_OK_AND_ASSIGN(
        const std::unique_ptr<Sampler> sampler,
        NewCpuKhopSamplerOf({std::move(id_map), named.draw},
                            {graph.view(), job.train}, OptionsOf(job)));
    for (BatchSeq seq = 0; seq < 5; ++seq) {
      ExpectLikeReference(*sampler, graph, job, seq);
    }
  }
}

TEST(KhopSamplerTest, ThreadsThatShareAJobMakeTheBatchesOfOne) {
  constexpr BatchSeq kNumBatches = 64;
  const CscGraph graph = RandomGraph(2000, 11);
  KhopJob job = RandomJob(2000, 11);
  job.fanouts = {10, 5};
  const uint64_t bytes = MaxTaskBytesOf(graph.view(), OptionsOf(job));
  const auto digests_of = [&](unsigned num_threads) {
    std::vector<uint32_t> digests(kNumBatches);
    std::vector<std::thread> threads;
    for (unsigned t = 0; t < num_threads; ++t) {
      threads.emplace_back([&, t] {
        const auto sampler = MakeSampler(graph.view(), job);
        TaskBlock block(bytes);
        for (BatchSeq seq = t; seq < kNumBatches; seq += num_threads) {
          const auto sampled = sampler->Sample(seq, block.span());
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

TEST(KhopSamplerTest, AHubOfAMillionIsDrawnFromLikeAnyOther) {
  reference::AdjacencyLists lists(1'000'001);
  lists[0].resize(1'000'000);
  for (uint32_t i = 0; i < 1'000'000; ++i) lists[0][i] = i + 1;
  const CscGraph graph(std::move(lists));
  KhopJob job;
  job.train = {0};
  for (const int32_t fanout : {5, 64, 65535}) {
    SCOPED_TRACE(absl::StrCat("fanout=", fanout));
    job.fanouts = {fanout};
    const auto sampler = MakeSampler(graph.view(), job);
    TaskBlock block(MaxTaskBytesOf(graph.view(), OptionsOf(job)));
    FGNN_ASSERT_OK(sampler->Sample(0, block.span()));
    FGNN_ASSERT_OK_AND_ASSIGN(const TaskView task,
                              ReadTask(block.span(), kJobKey));
    // Neighbours differ, so as many vertices as edges says: no place twice.
    ASSERT_EQ(task.num_edges(), static_cast<uint64_t>(fanout));
    EXPECT_EQ(task.input_nodes.size(), static_cast<uint64_t>(fanout) + 1);
  }
}

// How often each place of an adjacency list is drawn, over many epochs.
TEST(KhopSamplerTest, EveryPlaceIsDrawnEquallyOften) {
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
    KhopJob job;
    job.train = {0};
    job.fanouts = {c.fanout};
    const auto sampler = MakeSampler(graph.view(), job);
    TaskBlock block(MaxTaskBytesOf(graph.view(), OptionsOf(job)));
    std::vector<uint64_t> drawn(c.degree + 1);
    for (BatchSeq epoch = 0; epoch < kNumEpochs; ++epoch) {
      FGNN_ASSERT_OK(sampler->Sample(epoch, block.span()));
      FGNN_ASSERT_OK_AND_ASSIGN(const TaskView task,
                                ReadTask(block.span(), kJobKey));
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

TEST(KhopSamplerTest, AnEpochsSeedsAreThePermutedTrainSet) {
  const CscGraph graph = RandomGraph(500, 3);
  KhopJob job;
  job.train = RandomTrainSet(500, 3);
  job.train.resize(100);
  job.batch_size = 16;
  job.fanouts = {2};
  ASSERT_NE(job.train.size() % 16, 0U);
  const auto sampler = MakeSampler(graph.view(), job);
  const uint64_t per_epoch = BatchesPerEpoch(job.train.size(), 16);
  TaskBlock block(MaxTaskBytesOf(graph.view(), OptionsOf(job)));
  std::vector<int64_t> order[2];
  for (uint64_t epoch = 0; epoch < 2; ++epoch) {
    for (uint64_t batch = 0; batch < per_epoch; ++batch) {
      FGNN_ASSERT_OK(sampler->Sample(epoch * per_epoch + batch, block.span()));
      FGNN_ASSERT_OK_AND_ASSIGN(const TaskView task,
                                ReadTask(block.span(), kJobKey));
      EXPECT_EQ(task.num_seeds,
                batch + 1 < per_epoch ? 16 : job.train.size() % 16);
      order[epoch].insert(order[epoch].end(), task.seeds().begin(),
                          task.seeds().end());
    }
    EXPECT_THAT(order[epoch], testing::UnorderedElementsAreArray(job.train));
  }
  EXPECT_NE(order[0], order[1]);
}

TEST(KhopSamplerTest, ABlockTooSmallIsRefusedAndALargerOneGivesTheSame) {
  const CscGraph graph = RandomGraph(400, 21);
  KhopJob job = RandomJob(400, 21);
  job.fanouts = {10, 10};
  const auto sampler = MakeSampler(graph.view(), job);
  TaskBlock large(MaxTaskBytesOf(graph.view(), OptionsOf(job)));
  FGNN_ASSERT_OK_AND_ASSIGN(const SampledTask whole,
                            sampler->Sample(0, large.span()));
  for (uint64_t bytes = 0; bytes < whole.bytes;
       bytes += std::max<uint64_t>(64, whole.bytes / 40)) {
    TaskBlock small(bytes);
    ASSERT_THAT(sampler->Sample(0, small.span()),
                StatusIs(absl::StatusCode::kResourceExhausted));
  }
  TaskBlock exact(whole.bytes);
  FGNN_ASSERT_OK_AND_ASSIGN(const SampledTask again,
                            sampler->Sample(0, exact.span()));
  EXPECT_EQ(again.digest, whole.digest);
  EXPECT_EQ(again.bytes, whole.bytes);
}

TEST(KhopSamplerTest, RefusesWrongOptionsByName) {
  const CscGraph graph = RandomGraph(10, 1);
  const std::vector<int64_t> train = {1, 2};
  const auto refusal = [&](SamplerOptions options,
                           absl::Span<const int64_t> t) {
    return NewCpuKhopSampler({graph.view(), t}, options).status();
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

// A folder may change under a daemon that did not validate it itself.
TEST(KhopSamplerTest, RefusesADamagedDatasetWithoutReadingOutsideIt) {
  const std::vector<int64_t> indptr = {0, 2, 4};
  const std::vector<uint32_t> indices = {0, 1, 1, 0};
  const std::vector<int64_t> train = {0, 1};
  const SamplerOptions options = {.fanouts = {3}, .batch_size = 2};
  TaskBlock block(4096);
  const auto refusal = [&](std::vector<int64_t> ptr, CscView view,
                           std::vector<int64_t> t) {
    view.indptr = ptr;
    auto sampler = NewCpuKhopSampler({view, t}, options);
    if (!sampler.ok()) return sampler.status();
    return (*sampler)->Sample(0, block.span()).status();
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
              StatusIs(invalid, HasSubstr("train.npy holds 2")));
  EXPECT_THAT(refusal(indptr, narrow, {-1, 0}),
              StatusIs(invalid, HasSubstr("train.npy holds -1")));
  const std::vector<uint32_t> too_large = {0, 1, 2, 0};
  EXPECT_THAT(
      refusal(indptr, {indptr, absl::Span<const uint32_t>(too_large)}, train),
      StatusIs(invalid, HasSubstr("indices.npy holds 2")));
  const std::vector<int64_t> negative = {0, 1, -1, 0};
  EXPECT_THAT(
      refusal(indptr, {indptr, absl::Span<const int64_t>(negative)}, train),
      StatusIs(invalid, HasSubstr("indices.npy holds -1")));
  const std::vector<int64_t> beyond = {0, 1, int64_t{1} << 32, 0};
  EXPECT_THAT(
      refusal(indptr, {indptr, absl::Span<const int64_t>(beyond)}, train),
      StatusIs(invalid, HasSubstr("indices.npy holds 4294967296")));
}

}  // namespace
}  // namespace fgnn
