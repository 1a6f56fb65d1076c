#include "shared/rpc/executor_proto.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "shared/measured/score_fields.h"
#include "shared/rpc/job_hosts_proto.h"
#include "tests/fakes/default_job.h"
#include "tests/fakes/status_matchers.h"

namespace fgnn {
namespace {

SeedShares Seeds() {
  return MakeSeedShares(0xc0ffee, {{.num_places = 1}, {.num_places = 2}});
}

TEST(ExecutorProtoTest, SharesThatLackPartsAreRefused) {
  v1::JobHosts message = ToProto(JobHosts{.seeds = Seeds()});
  EXPECT_THAT(CheckSeedShares(FromProto(message).seeds, 3), IsOk());
  message.mutable_seeds()->mutable_share_of_part()->pop_back();
  EXPECT_THAT(CheckSeedShares(FromProto(message).seeds, 3),
              StatusIs(absl::StatusCode::kInvalidArgument));
  message.clear_seeds();
  EXPECT_EQ(FromProto(message).seeds, SeedShares());
}

TEST(ExecutorProtoTest, AValidatedDatasetComesBackWhole) {
  const ValidatedDataset dataset = {.state = 1,
                                    .content = 2,
                                    .warning = "careful",
                                    .book = 3,
                                    .train_of_parts = {4, 0, 5}};
  const ValidatedDataset again = FromProto(ToProto(dataset));
  EXPECT_EQ(again.state, 1U);
  EXPECT_EQ(again.content, 2U);
  EXPECT_EQ(again.warning, "careful");
  EXPECT_EQ(again.book, 3U);
  EXPECT_EQ(again.train_of_parts, dataset.train_of_parts);
}

TEST(ExecutorProtoTest, ProfilesComeBackWhole) {
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
  trains_on_gpu.arithmetic = {
      .kind = "NVIDIA H200", .gradient_crc = 15, .step_crc = 16};
  trains_on_gpu.gpu = {.total_bytes = 9,
                       .free_bytes = 10,
                       .work_bytes = 11,
                       .evaluation_bytes = 12,
                       .hidden_bytes = 14,
                       .pinned_bytes = 13};
  EXPECT_EQ(FromProto(ToProto(trains_on_gpu)), trains_on_gpu);
}

TEST(ExecutorProtoTest, AScoreThatIsNotKnownStaysSo) {
  const SplitScore links = {
      .split = "valid",
      .num_vertices = 1,
      .num_correct = 2,
      .loss = 0.3,
      .scores = {.roc_auc = 0, .mrr = 0.7, .mean_rank = 6}};
  EXPECT_EQ(FromProto(ToProto(links)), links);
  // Each score alone: none takes the place of another, and 0 is a score.
  for (const ScoreField& field : AllScoreFields()) {
    Scores scores;
    scores.*field.score = 0;
    EXPECT_EQ(FromProto(ToProto(scores)), scores) << field.key;
    EXPECT_NE(scores, Scores());
  }
}

// A field of the struct that the converter forgot would be missing here.
TEST(ExecutorProtoTest, RequestsComeBackWhole) {
  FGNN_ASSERT_OK_AND_ASSIGN(const OpenJobRequest opened,
                            FromProto(ToProto(OpenJobRequest{
                                .job_id = "job", .spec = DefaultJob()})));
  EXPECT_EQ(opened.job_id, "job");
  EXPECT_EQ(opened.spec.dataset, DefaultJob().dataset);
  const AttachJobRequest attach = {.job_id = "job",
                                   .owner = OwnerIndex{3},
                                   .overflow_block = 0,
                                   .scheduler_generation = 5,
                                   .device = 6,
                                   .hosts = {.seeds = Seeds()}};
  FGNN_ASSERT_OK_AND_ASSIGN(const AttachJobRequest attached,
                            FromProto(ToProto(attach)));
  EXPECT_EQ(attached.job_id, attach.job_id);
  EXPECT_EQ(attached.owner, attach.owner);
  EXPECT_EQ(attached.overflow_block, 0U);
  EXPECT_EQ(attached.scheduler_generation, 5U);
  EXPECT_EQ(attached.device, 6U);
  EXPECT_EQ(attached.hosts.seeds, Seeds());
  const CountInputNodesRequest count = {
      .job_id = "job", .part = 1, .num_parts = 2, .path = "/counts"};
  FGNN_ASSERT_OK_AND_ASSIGN(const CountInputNodesRequest counted,
                            FromProto(ToProto(count)));
  EXPECT_EQ(counted.job_id, "job");
  EXPECT_EQ(counted.part, 1U);
  EXPECT_EQ(counted.num_parts, 2U);
  EXPECT_EQ(counted.path, "/counts");
  const RankVerticesRequest ranked = FromProto(
      ToProto(RankVerticesRequest{.job_id = "job", .counts = {"/a", "/b"}}));
  EXPECT_EQ(ranked.job_id, "job");
  EXPECT_EQ(ranked.counts.size(), 2U);
  EXPECT_EQ(ranked.counts[1], "/b");
  const EvaluateRequest evaluated =
      FromProto(ToProto(EvaluateRequest{.job_id = "job",
                                        .checkpoint = "/c",
                                        .splits = {"valid", "test"},
                                        .scratch = 7}));
  EXPECT_EQ(evaluated.job_id, "job");
  EXPECT_EQ(evaluated.checkpoint, "/c");
  EXPECT_EQ(evaluated.splits, (std::vector<std::string>{"valid", "test"}));
  EXPECT_EQ(evaluated.scratch, 7U);
  const SaveCheckpointRequest save = {.job_id = "job",
                                      .path = "/c",
                                      .folder = {.device = 1, .inode = 2},
                                      .version = 3,
                                      .epochs_done = 4,
                                      .run_state = "state"};
  FGNN_ASSERT_OK_AND_ASSIGN(const SaveCheckpointRequest saved,
                            FromProto(ToProto(save)));
  EXPECT_EQ(saved.job_id, "job");
  EXPECT_EQ(saved.path, "/c");
  EXPECT_EQ(saved.folder, save.folder);
  EXPECT_EQ(saved.version, 3U);
  EXPECT_EQ(saved.epochs_done, 4U);
  EXPECT_EQ(saved.run_state, "state");
  const CheckpointProfile checkpoint = FromProto(ToProto(CheckpointProfile{
      .version = 1, .epochs_done = 2, .seed = 3, .run_state = "state"}));
  EXPECT_EQ(checkpoint.version, 1U);
  EXPECT_EQ(checkpoint.epochs_done, 2U);
  EXPECT_EQ(checkpoint.seed, 3U);
  EXPECT_EQ(checkpoint.run_state, "state");
}

}  // namespace
}  // namespace fgnn
