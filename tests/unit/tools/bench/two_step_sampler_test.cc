#include "tests/bench/baselines/two_step_sampler.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>

#include "absl/strings/str_cat.h"
#include "sampler_service/sampling/cpu/cpu_sampler.h"
#include "shared/base/status.h"
#include "shared/minibatch/task.h"
#include "tests/fakes/status_matchers.h"
#include "tests/reference/random_graph.h"
#include "tests/reference/sampling_reference.h"
#include "tools/bench/files/task_block.h"

namespace fgnn {
namespace {

using reference::CscGraph;
using testing::HasSubstr;

// What a batch is, without the seconds that its task says.
void ExpectEqual(const TaskView& task, const TaskView& other) {
  EXPECT_EQ(task.seq, other.seq);
  EXPECT_EQ(task.num_seeds, other.num_seeds);
  EXPECT_EQ(task.input_nodes, other.input_nodes);
  ASSERT_EQ(task.num_hops, other.num_hops);
  for (int h = 0; h < task.num_hops; ++h) {
    SCOPED_TRACE(absl::StrCat("hop=", h));
    EXPECT_EQ(task.hops[h].num_sources, other.hops[h].num_sources);
    EXPECT_EQ(task.hops[h].indptr, other.hops[h].indptr);
    EXPECT_EQ(task.hops[h].indices, other.hops[h].indices);
  }
  EXPECT_EQ(task.digest, other.digest);
}

// Random graphs have self-loops, multi-edges, isolated vertices and hubs.
TEST(TwoStepSamplerTest, MakesTheTasksOfTheFusedSampler) {
  for (uint64_t seed = 0; seed < 100; ++seed) {
    SCOPED_TRACE(absl::StrCat("seed=", seed));
    reference::TestDraws draws(seed);
    const auto num_nodes = static_cast<uint32_t>(1 + draws.Below(300));
    const CscGraph graph = reference::RandomGraph(num_nodes, seed);
    const auto train = reference::RandomTrainSet(num_nodes, seed);
    const SamplerInput input = {graph.view(/*wide=*/seed % 2 == 1), train};
    SamplerOptions options = {
        .fanouts = {},
        .batch_size = static_cast<uint32_t>(1 + draws.Below(30)),
        .seed = seed};
    for (uint64_t hops = 1 + draws.Below(3); hops > 0; --hops) {
      const int32_t fanouts[] = {-1, 1, 5, 64, 65, 200};
      options.fanouts.push_back(fanouts[draws.Below(6)]);
    }
    FGNN_ASSERT_OK_AND_ASSIGN(const std::unique_ptr<Sampler> fused,
                              NewCpuSampler(input, options));
    FGNN_ASSERT_OK_AND_ASSIGN(const std::unique_ptr<Sampler> two_step,
                              NewTwoStepSampler(input, options));
    FGNN_ASSERT_OK_AND_ASSIGN(const TaskBlock block,
                              TaskBlock::Create(input, options));
    FGNN_ASSERT_OK_AND_ASSIGN(const TaskBlock other_block,
                              TaskBlock::Create(input, options));
    const uint64_t per_epoch =
        BatchesPerEpoch(train.size(), options.batch_size);
    for (const BatchSeq seq :
         {BatchSeq(0), BatchSeq(per_epoch - 1), BatchSeq(2 * per_epoch)}) {
      FGNN_ASSERT_OK_AND_ASSIGN(const SampledTask sampled,
                                fused->Sample(seq, block.span()));
      FGNN_ASSERT_OK_AND_ASSIGN(const SampledTask other_sampled,
                                two_step->Sample(seq, other_block.span()));
      EXPECT_EQ(sampled.num_edges, other_sampled.num_edges);
      EXPECT_EQ(sampled.num_input_nodes, other_sampled.num_input_nodes);
      EXPECT_EQ(sampled.bytes, other_sampled.bytes);
      FGNN_ASSERT_OK_AND_ASSIGN(const TaskView task,
                                ReadTask(block.span(), options.job_key));
      FGNN_ASSERT_OK_AND_ASSIGN(const TaskView other,
                                ReadTask(other_block.span(), options.job_key));
      ExpectEqual(task, other);
    }
    if (HasFailure()) return;
  }
}

TEST(TwoStepSamplerTest, RefusesWhatNoSamplerTakes) {
  const CscGraph graph = reference::RandomGraph(10, 1);
  const std::vector<int64_t> none;
  EXPECT_THAT(NewTwoStepSampler({graph.view(), none}, {.fanouts = {1}}),
              StatusIs(absl::StatusCode::kInvalidArgument));
}

TEST(TwoStepSamplerTest, RefusesAnotherLawThanItsOwn) {
  const CscGraph graph = reference::RandomGraph(10, 1);
  const std::vector<int64_t> train = {0, 1};
  const SamplerOptions sound = {.fanouts = {1}};
  const auto refusal = [&](const auto& change) {
    SamplerOptions options = sound;
    change(options);
    return MessageOf(
        NewTwoStepSampler({graph.view(), train}, options).status());
  };
  EXPECT_EQ(refusal([](auto&) {}), "");
  EXPECT_THAT(refusal([](auto& o) { o.algorithm = SamplingAlgorithm::kLabor; }),
              HasSubstr("--baseline two-step is for"));
  EXPECT_THAT(refusal([](auto& o) { o.replace = true; }),
              HasSubstr("--baseline two-step is for"));
  EXPECT_THAT(refusal([](auto& o) { o.resample = false; }),
              HasSubstr("--baseline two-step is for"));
}

}  // namespace
}  // namespace fgnn
