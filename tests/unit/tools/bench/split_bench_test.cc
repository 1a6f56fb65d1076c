#include "tools/bench/split/split_bench.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <numeric>
#include <set>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "sampler_service/sampling/cpu/cpu_sampler.h"
#include "sampler_service/sampling/scratch_block.h"
#include "tests/fakes/status_matchers.h"
#include "tests/reference/random_graph.h"
#include "tests/unit/sampler_service/split/split_case.h"
#include "tools/bench/hot_ranks.h"

namespace fgnn {
namespace {

std::vector<uint32_t> SameRanks(uint32_t num_nodes) {
  std::vector<uint32_t> ranks(num_nodes);
  std::iota(ranks.begin(), ranks.end(), 0);
  return ranks;
}

// Seeds 0 and 1, which have the neighbours {1, 2, 3} and {3, 4}: vertex 1 is a
// seed, and 3 is of both. Vertices 0, 2 and 3 are of part 0.
class SmallBatch {
 public:
  SmallBatch() : block_(Content().Bytes()) {
    EXPECT_THAT(WriteTask(Content(), block_.span()), IsOk());
  }
  TaskView view() { return ViewOfTask(block_.span()); }

 private:
  static TaskContent Content() {
    TaskContent task;
    task.num_seeds = 2;
    task.hops.resize(1);
    task.hops[0].num_sources = 5;
    task.hops[0].indptr = {0, 3, 5};
    task.hops[0].indices = {1, 2, 3, 3, 4};
    task.input_nodes = {0, 1, 2, 3, 4};
    return task;
  }
  Block block_;
};

// Adds the parts that the splitter makes of a batch.
void AddParts(const TaskView& whole, const TestBook& book, uint32_t num_parts,
              SplitCounter* counter) {
  BatchSplitter splitter(book.get(), num_parts);
  ASSERT_THAT(splitter.Prepare(whole), IsOk());
  for (uint32_t p = 0; p < num_parts; ++p) {
    Block block(splitter.BytesOf(p));
    ASSERT_THAT(splitter.Write(p, kTestJob, {}, block.span()), IsOk());
    counter->AddPart(ViewOfTask(block.span()));
  }
}

TEST(SplitCountsTest, CountsAnExampleMadeByHand) {
  SmallBatch batch;
  // Fine parts 0 to 31 are of part 0 of two.
  const TestBook book({0, 63, 0, 31, 32});
  const std::vector<uint32_t> ranks = SameRanks(5);
  SplitCounter counter(2, ranks, {0, 0.2, 0.4, 1});
  counter.AddWhole(batch.view());
  AddParts(batch.view(), book, 2, &counter);
  const SplitCounts counts = counter.Counts();
  EXPECT_EQ(counts.batches, 1U);
  EXPECT_EQ(counts.seeds, 2U);
  ASSERT_EQ(counts.parts.size(), 1U);
  EXPECT_EQ(counts.parts[0].own.destinations, 2U);
  EXPECT_EQ(counts.parts[0].own.edges, 5U);
  EXPECT_EQ(counts.parts[0].own.sources, 5U);
  // Part 0 needs vertex 1, part 1 needs vertex 3. Local: 0 <- 2, 3 and 1 <- 4.
  EXPECT_EQ(counts.parts[0].remote, 2U);
  EXPECT_EQ(counts.parts[0].local_edges, 3U);
  EXPECT_DOUBLE_EQ(counts.LocalEdges(), 0.6);
  EXPECT_DOUBLE_EQ(counts.edge_skew, (3 - 2) / 2.5);
  EXPECT_DOUBLE_EQ(counts.row_skew, 0);
  EXPECT_DOUBLE_EQ(counts.UnsharedLoads(), 0.4);
  // Both trainers cache nothing, one, two and all of five vertices each.
  EXPECT_EQ(counts.loaded[0].split, 5U);
  EXPECT_EQ(counts.loaded[1].split, 3U);
  EXPECT_EQ(counts.loaded[2].split, 1U);
  EXPECT_EQ(counts.loaded[3].split, 0U);
}

TEST(SplitCountsTest, MicroBatchesThatAreTheBatchAreNotRedundant) {
  SmallBatch batch;
  const std::vector<uint32_t> ranks = SameRanks(5);
  SplitCounter counter(1, ranks, {0.4});
  counter.AddWhole(batch.view());
  counter.AddMicro(batch.view());
  SplitCounts counts = counter.Counts();
  EXPECT_EQ(counts.EdgeRedundancy(), 0);
  EXPECT_EQ(counts.ComputeRedundancy(), 0);
  EXPECT_EQ(counts.LoadRedundancy(), 0);
  EXPECT_EQ(counts.loaded[0],
            (LoadedRows{.alone = 3, .shared = 3, .split = 3}));
  // Everything twice.
  counter.AddMicro(batch.view());
  counts = counter.Counts();
  EXPECT_EQ(counts.EdgeRedundancy(), 1);
  EXPECT_EQ(counts.ComputeRedundancy(), 1);
  EXPECT_EQ(counts.LoadRedundancy(), 1);
}

constexpr uint32_t kNumNodes = 150;

// Vertices and train vertices with all that is difficult, and a random book.
class SplitBenchTest : public testing::Test {
 protected:
  SplitBenchTest() {
    options_.sampling = {.fanouts = {4, 3}, .batch_size = 24, .seed = 5};
    options_.caches = {0, 0.1};
    options_.batches = 7;  // Over the end of an epoch.
    options_.rounds = 2;
  }
  SamplerInput input() const { return {graph_.view(), train_}; }

  const reference::CscGraph graph_ = reference::RandomGraph(kNumNodes, 3);
  const std::vector<int64_t> train_ = reference::RandomTrainSet(kNumNodes, 3);
  const TestBook book_ = RandomBook(kNumNodes, kFineParts, 9);
  SplitBenchOptions options_;
};

// Counts remote rows and local edges of the whole batches by their definition.
TEST_F(SplitBenchTest, PartsHaveTheBatchesRowsAndEdges) {
  options_.parts = {2, 3, 4};
  FGNN_ASSERT_OK_AND_ASSIGN(const std::vector<SplitCase> cases,
                            RunSplitBench(input(), *book_.get(), options_));
  ASSERT_EQ(cases.size(), 3U);
  FGNN_ASSERT_OK_AND_ASSIGN(const std::vector<uint32_t> ranks,
                            PrescRanks(input(), options_.sampling, 1));
  FGNN_ASSERT_OK_AND_ASSIGN(const std::unique_ptr<Sampler> sampler,
                            NewCpuSampler(input(), options_.sampling));
  ScratchBlock scratch(MaxTaskBytesOf(graph_.view(), options_.sampling));
  for (size_t i = 0; i < cases.size(); ++i) {
    const uint32_t num_parts = options_.parts[i];
    SCOPED_TRACE(absl::StrCat("P=", num_parts));
    const SplitCounts& counts = cases[i].counts;
    EXPECT_EQ(cases[i].parts, num_parts);
    EXPECT_EQ(counts.batches, 7U);
    ASSERT_EQ(counts.parts.size(), 2U);
    std::vector<SplitHopCounts> wanted(2);
    uint64_t missed = 0;
    for (BatchSeq seq(0); seq < BatchSeq(7); ++seq) {
      ASSERT_THAT(scratch.Sample(*sampler, seq), IsOk());
      const TaskView whole = ViewOfTask(scratch.bytes());
      const std::vector<uint32_t> owners = book_.OwnersOf(whole, num_parts);
      for (size_t h = 0; h < 2; ++h) {
        const BlockView& block = whole.hops[h];
        wanted[h].own.destinations += block.num_destinations;
        wanted[h].own.edges += block.indices.size();
        wanted[h].own.sources += block.num_sources;
        std::set<std::pair<uint32_t, uint32_t>> sent;
        for (uint32_t d = 0; d < block.num_destinations; ++d) {
          for (uint32_t e = block.indptr[d]; e < block.indptr[d + 1]; ++e) {
            const uint32_t source = block.indices[e];
            if (owners[source] == owners[d]) {
              ++wanted[h].local_edges;
            } else {
              sent.insert({source, owners[d]});
            }
          }
        }
        wanted[h].remote += sent.size();
      }
      for (const uint32_t v : whole.input_nodes) {
        missed += ranks[v] >= num_parts * 15U ? 1 : 0;
      }
    }
    for (size_t h = 0; h < 2; ++h) {
      EXPECT_EQ(counts.parts[h].own.destinations, wanted[h].own.destinations);
      EXPECT_EQ(counts.parts[h].own.edges, wanted[h].own.edges);
      EXPECT_EQ(counts.parts[h].own.sources, wanted[h].own.sources);
      EXPECT_EQ(counts.parts[h].local_edges, wanted[h].local_edges);
      EXPECT_EQ(counts.parts[h].remote, wanted[h].remote);
      EXPECT_EQ(counts.whole[h].edges, wanted[h].own.edges);
      EXPECT_EQ(counts.whole[h].sources, wanted[h].own.sources);
    }
    EXPECT_EQ(counts.loaded[1].split, missed);
    EXPECT_GT(counts.edge_skew, 0);
    EXPECT_GT(cases[i].times.ratio, 0);
  }
}

// The micro-batches have the seeds of the batches, in every epoch.
TEST_F(SplitBenchTest, MicroBatchesHaveTheBatchesSeeds) {
  options_.sampling.fanouts = {-1};
  options_.parts = {2, 4};
  FGNN_ASSERT_OK_AND_ASSIGN(const std::vector<SplitCase> cases,
                            RunSplitBench(input(), *book_.get(), options_));
  for (const SplitCase& found : cases) {
    SCOPED_TRACE(absl::StrCat("P=", found.parts));
    const SplitCounts& counts = found.counts;
    // With all neighbours, each seed has the same edges in both.
    EXPECT_EQ(counts.micro[0].destinations, counts.seeds);
    EXPECT_EQ(counts.micro[0].edges, counts.whole[0].edges);
    EXPECT_EQ(counts.ComputeRedundancy(), 0);
    EXPECT_EQ(counts.EdgeRedundancy(), 0);
    EXPECT_GT(counts.LoadRedundancy(), 0);
    EXPECT_EQ(counts.loaded[0].alone, counts.micro[0].sources);
    EXPECT_EQ(counts.loaded[0].split, counts.whole[0].sources);
    // P caches of the same rows hold less than one of P times the rows.
    EXPECT_GT(counts.loaded[1].alone, counts.loaded[1].shared);
    EXPECT_GT(counts.loaded[1].shared, counts.loaded[1].split);
  }
}

// Each vertex has two neighbours that no other one has.
TEST(SplitBenchOfStarsTest, SeedsWithoutCommonNeighboursAreNotRedundant) {
  constexpr uint32_t kNumSeeds = 48;
  reference::AdjacencyLists lists(3 * kNumSeeds);
  std::vector<int64_t> train(kNumSeeds);
  for (uint32_t v = 0; v < kNumSeeds; ++v) {
    lists[v] = {kNumSeeds + 2 * v, kNumSeeds + 2 * v + 1};
    train[v] = v;
  }
  const reference::CscGraph graph(std::move(lists));
  const TestBook book = RandomBook(3 * kNumSeeds, kFineParts, 1);
  SplitBenchOptions options;
  options.sampling = {.fanouts = {2, 2}, .batch_size = 16};
  options.batches = 6;
  options.rounds = 1;
  options.parts = {2, 4, 16};
  FGNN_ASSERT_OK_AND_ASSIGN(
      const std::vector<SplitCase> cases,
      RunSplitBench({graph.view(), train}, *book.get(), options));
  ASSERT_EQ(cases.size(), 3U);
  for (const SplitCase& found : cases) {
    EXPECT_EQ(found.counts.EdgeRedundancy(), 0);
    EXPECT_EQ(found.counts.ComputeRedundancy(), 0);
    EXPECT_EQ(found.counts.LoadRedundancy(), 0);
  }
}

TEST_F(SplitBenchTest, ABookOfOneOwnerHasLocalEdgesAlone) {
  const TestBook book(std::vector<uint8_t>(kNumNodes, 0));
  FGNN_ASSERT_OK_AND_ASSIGN(const std::vector<SplitCase> cases,
                            RunSplitBench(input(), *book.get(), options_));
  for (const SplitCase& found : cases) {
    EXPECT_EQ(found.counts.LocalEdges(), 1);
    EXPECT_EQ(found.counts.UnsharedLoads(), 0);
    EXPECT_DOUBLE_EQ(found.counts.edge_skew, found.parts);
    for (const SplitHopCounts& hop : found.counts.parts) {
      EXPECT_EQ(hop.remote, 0U);
    }
  }
}

TEST_F(SplitBenchTest, FlagsOutOfRangeAreNamed) {
  const auto error_of = [&](auto change) {
    SplitBenchOptions options = options_;
    change(&options);
    return RunSplitBench(input(), *book_.get(), options).status();
  };
  EXPECT_THAT(error_of([](auto* options) {
                options->parts = {2, 17};
              }),
              InvalidArgument("--parts holds 17"));
  EXPECT_THAT(error_of([](auto* options) { options->parts = {1}; }),
              InvalidArgument("--parts holds 1"));
  EXPECT_THAT(error_of([](auto* options) { options->parts = {5}; }),
              InvalidArgument("such as 25"));
  EXPECT_THAT(error_of([](auto* options) {
                options->caches = {0, 1.5};
              }),
              InvalidArgument("--cache holds 1.5"));
}

}  // namespace
}  // namespace fgnn
