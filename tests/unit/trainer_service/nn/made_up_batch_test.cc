#include "trainer_service/nn/made_up_batch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "tests/fakes/status_matchers.h"
#include "trainer_service/compute/scratch.h"
#include "trainer_service/nn/cpu/cpu_model.h"

namespace fgnn {
namespace {

using testing::Each;
using testing::IsEmpty;
using testing::Lt;

const std::vector<HopSize> kHops = {{10, 70, 95}, {70, 300, 512}};

TEST(MadeUpBatchTest, HasTheSizesThatWereAskedFor) {
  FGNN_ASSERT_OK_AND_ASSIGN(const auto batch, MadeUpBatch::Make(kHops, 1000));
  const TaskView& task = batch->task();
  ASSERT_EQ(task.num_hops, 2);
  EXPECT_EQ(task.num_seeds, 10U);
  EXPECT_EQ(batch->labels().size(), 10U);
  ASSERT_EQ(task.input_nodes.size(), 300U);
  EXPECT_THAT(task.input_nodes, Each(Lt(1000U)));
  EXPECT_GT(*std::max_element(task.input_nodes.begin(), task.input_nodes.end()),
            900U);
  for (size_t h = 0; h < kHops.size(); ++h) {
    const BlockView& block = task.hops[h];
    EXPECT_EQ(block.num_destinations, kHops[h].num_destinations);
    EXPECT_EQ(block.num_sources, kHops[h].num_sources);
    ASSERT_EQ(block.indptr.size(), kHops[h].num_destinations + 1);
    EXPECT_EQ(block.indptr.front(), 0U);
    EXPECT_EQ(block.indptr.back(), kHops[h].num_edges);
    EXPECT_TRUE(std::is_sorted(block.indptr.begin(), block.indptr.end()));
    ASSERT_EQ(block.indices.size(), kHops[h].num_edges);
    EXPECT_THAT(block.indices, Each(Lt(kHops[h].num_sources)));
    EXPECT_THAT(block.weights, IsEmpty());
  }
}

TEST(MadeUpBatchTest, WeighsEdgesWhereThatIsAskedFor) {
  FGNN_ASSERT_OK_AND_ASSIGN(const auto plain, MadeUpBatch::Make(kHops, 1000));
  FGNN_ASSERT_OK_AND_ASSIGN(
      const auto weighed,
      MadeUpBatch::Make(kHops, 1000, {.weighs_edges = true}));
  for (size_t h = 0; h < kHops.size(); ++h) {
    const absl::Span<const float> weights = weighed->task().hops[h].weights;
    EXPECT_EQ(weights.size(), kHops[h].num_edges);
    EXPECT_THAT(weights, Each(1.0F));
  }
  EXPECT_EQ(weighed->bytes(), plain->bytes() + (95 + 512) * sizeof(float));
}

TEST(MadeUpBatchTest, IsTheSameEachTimeAndOtherInEachHop) {
  FGNN_ASSERT_OK_AND_ASSIGN(const auto one, MadeUpBatch::Make(kHops, 1000));
  FGNN_ASSERT_OK_AND_ASSIGN(const auto two, MadeUpBatch::Make(kHops, 1000));
  EXPECT_EQ(one->task().input_nodes, two->task().input_nodes);
  EXPECT_EQ(one->task().hops[1].indices, two->task().hops[1].indices);
  const std::vector<HopSize> even = {{4, 4, 40}, {4, 4, 40}};
  FGNN_ASSERT_OK_AND_ASSIGN(const auto equal, MadeUpBatch::Make(even, 9));
  EXPECT_NE(equal->task().hops[0].indices, equal->task().hops[1].indices);
}

TEST(MadeUpBatchTest, CanBeTrained) {
  ModelOptions options;
  options.hidden = 8;
  options.input_columns = 5;
  options.num_classes = 3;
  ThreadTeam team(1);
  const auto model = MakeCpuModel(options, &team).value();
  std::vector<float> weights(model->num_parameters());
  std::vector<float> gradient(weights.size());
  model->Initialize(1, absl::MakeSpan(weights));
  FGNN_ASSERT_OK_AND_ASSIGN(const auto made_up, MadeUpBatch::Make(kHops, 1000));
  Scratch<float> features;
  TrainingBatch batch;
  batch.task = &made_up->task();
  batch.features = absl::MakeSpan(features.Reserve(300 * 5), 300 * 5);
  std::fill(batch.features.begin(), batch.features.end(), 1.0F);
  batch.labels = made_up->labels();
  FGNN_ASSERT_OK(
      model->Gradient(weights, batch, absl::MakeSpan(gradient)).status());
}

TEST(MadeUpBatchTest, SizesThatNoBatchHasAreRefusedByHop) {
  const auto refusal = [](std::vector<HopSize> hops) {
    return CheckHops(hops, 1000);
  };
  EXPECT_THAT(refusal(kHops), IsOk());
  for (const auto& [hops, words] :
       std::vector<std::pair<std::vector<HopSize>, const char*>>{
           {{}, "hops: 0"},
           {std::vector<HopSize>(9, {5, 5, 5}), "hops: 9"},
           {{{0, 5, 5}}, "hops[0] has 0 destinations"},
           {{{5, 4, 5}}, "hops[0] has 5 destinations, 4 sources"},
           {{{5, 1001, 5}}, "1000 vertices"},
           {{{5, 6, uint64_t{1} << 32}}, "4294967296 edges"},
           {{{5, 6, 5}, {7, 8, 5}}, "hops[1] has 7 destinations"}}) {
    EXPECT_THAT(refusal(hops), InvalidArgument(words));
  }
}

}  // namespace
}  // namespace fgnn
