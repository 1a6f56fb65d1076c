#include "tools/bench/sample_bench.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

#include "sampler_service/sampling/cpu/cpu_sampler.h"
#include "shared/base/status.h"
#include "tests/fakes/status_matchers.h"
#include "tests/fakes/temp_folder.h"
#include "tests/reference/random_graph.h"
#include "tests/reference/sampling_reference.h"
#include "tools/dataset/reading/array_stream.h"

namespace fgnn {
namespace {

using testing::ElementsAreArray;
using testing::HasSubstr;
using testing::UnorderedElementsAre;

// One more at each look.
std::optional<uint64_t> CountLooks() {
  static thread_local uint64_t looks = 0;
  return looks++;
}

class SampleBenchTest : public testing::Test {
 protected:
  SampleBenchTest() {
    options_.sampling = {.fanouts = {4, 3}, .batch_size = 20, .seed = 5};
    options_.batches = 6;
    options_.rounds = 2;
  }
  SamplerInput input() const { return {graph_.view(), train_}; }

  static std::vector<uint32_t> Read(const NpzArchive& archive,
                                    const std::string& name) {
    auto stream = archive.OpenArray(name);
    EXPECT_THAT(stream, IsOk());
    std::vector<int64_t> values(stream->num_elements());
    EXPECT_THAT(stream->Read(absl::MakeSpan(values)), IsOk());
    return {values.begin(), values.end()};
  }

  reference::Job ReferenceJob() const {
    reference::Job job;
    job.train = train_;
    job.options = options_.sampling;
    return job;
  }

  const reference::CscGraph graph_ = reference::RandomGraph(500, 3);
  const std::vector<int64_t> train_ = reference::RandomTrainSet(500, 3);
  SampleBenchOptions options_;
};

TEST_F(SampleBenchTest, CountsWhatTheBatchesOfARoundHold) {
  options_.rounds = 1;
  for (const uint32_t threads : {1, 3}) {
    options_.threads = threads;
    FGNN_ASSERT_OK_AND_ASSIGN(const SampleBenchResult result,
                              RunSampleBench(input(), options_));
    // The round follows the batches that warm up, five per thread.
    uint64_t edges = 0;
    uint64_t input_nodes = 0;
    for (uint64_t seq = 5 * threads; seq < 5 * threads + 6; ++seq) {
      const reference::Batch batch =
          reference::SampleBatch(graph_.lists(), ReferenceJob(), seq);
      for (const reference::Hop& hop : batch.hops) edges += hop.indices.size();
      input_nodes += batch.input_nodes.size();
    }
    EXPECT_EQ(result.fused.edges, edges);
    EXPECT_EQ(result.fused.input_nodes, input_nodes);
    EXPECT_GT(result.fused.seconds, 0);
    EXPECT_GT(result.fused.stages.sample, 0);
    EXPECT_FALSE(result.baseline.has_value());
    EXPECT_FALSE(result.fused.allocations.has_value());
  }
}

TEST_F(SampleBenchTest, MeasuresABaselineOnTheSameBatches) {
  options_.baseline = SampleBaseline{"again", NewCpuSampler, true};
  options_.rounds = 1;
  FGNN_ASSERT_OK_AND_ASSIGN(const SampleBenchResult result,
                            RunSampleBench(input(), options_));
  ASSERT_TRUE(result.baseline.has_value());
  EXPECT_EQ(result.baseline->edges, result.fused.edges);
  EXPECT_EQ(result.baseline->input_nodes, result.fused.input_nodes);
}

TEST_F(SampleBenchTest, RefusesOtherBatchesWhereABaselinePromisesTheSame) {
  const auto other_seed = [](const SamplerInput& input,
                             SamplerOptions options) {
    ++options.seed;
    return NewCpuSampler(input, options);
  };
  options_.baseline = SampleBaseline{"other-seed", other_seed, true};
  const absl::Status status = RunSampleBench(input(), options_).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInternal);
  EXPECT_THAT(MessageOf(status), HasSubstr("by other-seed"));
  options_.baseline->makes_same_batches = false;
  EXPECT_THAT(RunSampleBench(input(), options_), IsOk());
}

TEST_F(SampleBenchTest, AddsUpTheAllocationsOfItsThreads) {
  options_.thread_allocations = CountLooks;
  options_.threads = 2;
  FGNN_ASSERT_OK_AND_ASSIGN(const SampleBenchResult result,
                            RunSampleBench(input(), options_));
  EXPECT_EQ(result.fused.allocations, 2U);
}

TEST_F(SampleBenchTest, DumpsTheFirstBatchesOfTheJob) {
  const TempFolder folder;
  options_.batches = 2;
  FGNN_ASSERT_OK(DumpBatches(input(), options_, folder / "new" / "dump"));
  for (uint64_t seq = 0; seq < 2; ++seq) {
    FGNN_ASSERT_OK_AND_ASSIGN(
        const NpzArchive archive,
        NpzArchive::Open(folder / "new" / "dump" /
                         ("batch-" + std::to_string(seq) + ".npz")));
    EXPECT_THAT(
        archive.Names(),
        UnorderedElementsAre("seeds", "input_nodes", "hop0_indptr",
                             "hop0_indices", "hop1_indptr", "hop1_indices"));
    const reference::Batch batch =
        reference::SampleBatch(graph_.lists(), ReferenceJob(), seq);
    const std::vector<uint32_t>& nodes = batch.input_nodes;
    EXPECT_THAT(Read(archive, "input_nodes"), ElementsAreArray(nodes));
    EXPECT_THAT(
        Read(archive, "seeds"),
        ElementsAreArray(nodes.begin(), nodes.begin() + batch.num_seeds));
    for (size_t h = 0; h < 2; ++h) {
      const std::string hop = "hop" + std::to_string(h);
      EXPECT_THAT(Read(archive, hop + "_indptr"),
                  ElementsAreArray(batch.hops[h].indptr));
      EXPECT_THAT(Read(archive, hop + "_indices"),
                  ElementsAreArray(batch.hops[h].indices));
    }
  }
}

TEST_F(SampleBenchTest, RefusesWrongFlagsByTheirNames) {
  const auto refusal = [this](const auto& change) {
    SampleBenchOptions wrong = options_;
    change(wrong);
    const auto result = RunSampleBench(input(), wrong);
    EXPECT_EQ(result.status().code(), absl::StatusCode::kInvalidArgument);
    return MessageOf(result.status());
  };
  EXPECT_THAT(refusal([](auto& o) {
                o.sampling.fanouts = {3, 0};
              }),
              HasSubstr("--fanouts holds 0"));
  EXPECT_THAT(refusal([](auto& o) { o.sampling.fanouts.assign(9, 1); }),
              HasSubstr("--fanouts has 9 hops"));
}

}  // namespace
}  // namespace fgnn
