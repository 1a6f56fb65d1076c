#include "tests/bench/baselines/bare_loop.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <vector>

#include "sampler_service/sampling/cpu/cpu_sampler.h"
#include "tests/fakes/status_matchers.h"
#include "tests/reference/random_graph.h"
#include "tools/bench/files/task_block.h"

namespace fgnn {
namespace {

// Its edges are others, but there are as many: fanouts and degrees say so.
TEST(BareLoopTest, DrawsAsManyEdgesInTheFirstHop) {
  const reference::CscGraph graph = reference::RandomGraph(500, 3);
  const std::vector<int64_t> train = reference::RandomTrainSet(500, 3);
  const SamplerInput input = {graph.view(), train};
  const SamplerOptions options = {.fanouts = {4}, .batch_size = 20, .seed = 5};
  FGNN_ASSERT_OK_AND_ASSIGN(const std::unique_ptr<Sampler> sampler,
                            NewCpuSampler(input, options));
  FGNN_ASSERT_OK_AND_ASSIGN(const std::unique_ptr<Sampler> bare,
                            NewBareLoop(input, options));
  FGNN_ASSERT_OK_AND_ASSIGN(const TaskBlock block,
                            TaskBlock::Create(input, options));
  for (BatchSeq seq(0); seq < BatchSeq(6); ++seq) {
    FGNN_ASSERT_OK_AND_ASSIGN(const SampledTask sampled,
                              sampler->Sample(seq, block.span()));
    FGNN_ASSERT_OK_AND_ASSIGN(const SampledTask drawn,
                              bare->Sample(seq, block.span()));
    EXPECT_EQ(drawn.num_seeds, sampled.num_seeds);
    EXPECT_EQ(drawn.num_edges, sampled.num_edges);
    EXPECT_GE(drawn.num_input_nodes, drawn.num_seeds);
  }
}

TEST(BareLoopTest, RefusesAllNeighbours) {
  const reference::CscGraph graph = reference::RandomGraph(10, 1);
  const std::vector<int64_t> train = {0, 1};
  EXPECT_THAT(NewBareLoop({graph.view(), train}, {.fanouts = {-1}}),
              StatusIs(absl::StatusCode::kInvalidArgument));
}

}  // namespace
}  // namespace fgnn
