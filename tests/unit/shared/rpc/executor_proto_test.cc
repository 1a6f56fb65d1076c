#include "shared/rpc/executor_proto.h"

#include <gtest/gtest.h>

namespace fgnn {
namespace {

TEST(MeasuredProtoTest, ProfilesComeBackWhole) {
  const SamplingProfile sampling = {.max_task_bytes = 1,
                                    .bound_task_bytes = 2,
                                    .max_input_nodes = 3,
                                    .max_edges = 4,
                                    .seconds_per_batch = 0.5,
                                    .workspace_bytes = 6,
                                    .program_bytes = 7,
                                    .hops = {{8, 9, 10}, {11, 12, 13}},
                                    .num_threads = 14};
  EXPECT_EQ(FromProto(ToProto(sampling)), sampling);
  SamplingProfile on_gpu = sampling;
  on_gpu.gpu = {.total_bytes = 15,
                .free_bytes = 16,
                .topology_bytes = 17,
                .work_bytes = 18};
  EXPECT_EQ(FromProto(ToProto(on_gpu)), on_gpu);
  const TrainingProfile training = {.num_parameters = 1,
                                    .optimizer_floats_per_parameter = 2,
                                    .seconds_per_batch = 0.3,
                                    .program_bytes = 4,
                                    .step_bytes = 5,
                                    .match_bytes = 9,
                                    .evaluation_bytes = 6,
                                    .evaluation_shared_bytes = 7,
                                    .checkpoint_bytes = 8};
  EXPECT_EQ(FromProto(ToProto(training)), training);
  TrainingProfile trains_on_gpu = training;
  trains_on_gpu.gpu = {.total_bytes = 9,
                       .free_bytes = 10,
                       .work_bytes = 11,
                       .evaluation_bytes = 12,
                       .hidden_bytes = 14,
                       .pinned_bytes = 13};
  EXPECT_EQ(FromProto(ToProto(trains_on_gpu)), trains_on_gpu);
}

TEST(MeasuredProtoTest, AScoreThatIsNotKnownStaysSo) {
  const SplitScore links = {.split = "valid",
                            .num_vertices = 1,
                            .num_correct = 2,
                            .loss = 0.3,
                            .macro_f1 = 0.4,
                            .roc_auc = 0,
                            .mean_rank = 6,
                            .mrr = 0.7};
  EXPECT_EQ(FromProto(ToProto(links)), links);
  const SplitScore values = {
      .split = "valid", .num_vertices = 1, .rmse = 0, .mae = 0.25, .r2 = -1.5};
  EXPECT_EQ(FromProto(ToProto(values)), values);
  const SplitScore sets = {
      .split = "valid", .num_vertices = 1, .macro_f1 = 0.5, .micro_f1 = 0};
  EXPECT_EQ(FromProto(ToProto(sets)), sets);
  const SplitScore vertices = {.split = "test", .num_vertices = 1};
  EXPECT_EQ(FromProto(ToProto(vertices)), vertices);
}

}  // namespace
}  // namespace fgnn
