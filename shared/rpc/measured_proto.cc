#include "shared/rpc/measured_proto.h"

#include <optional>

namespace fgnn {
namespace {

v1::GpuMemory ToProto(const GpuMemory& gpu) {
  v1::GpuMemory message;
  message.set_total_bytes(gpu.total_bytes);
  message.set_free_bytes(gpu.free_bytes);
  message.set_topology_bytes(gpu.topology_bytes);
  message.set_work_bytes(gpu.work_bytes);
  message.set_evaluation_bytes(gpu.evaluation_bytes);
  message.set_pinned_bytes(gpu.pinned_bytes);
  message.set_hidden_bytes(gpu.hidden_bytes);
  return message;
}

// Returns the memory of a response that has it.
template <typename Response>
std::optional<GpuMemory> GpuOf(const Response& response) {
  if (!response.has_gpu()) return std::nullopt;
  const v1::GpuMemory& gpu = response.gpu();
  return GpuMemory{.total_bytes = gpu.total_bytes(),
                   .free_bytes = gpu.free_bytes(),
                   .topology_bytes = gpu.topology_bytes(),
                   .work_bytes = gpu.work_bytes(),
                   .evaluation_bytes = gpu.evaluation_bytes(),
                   .hidden_bytes = gpu.hidden_bytes(),
                   .pinned_bytes = gpu.pinned_bytes()};
}

}  // namespace

HopSizeMessages ToProto(const std::vector<HopSize>& hops) {
  HopSizeMessages messages;
  for (const HopSize& hop : hops) {
    v1::HopSize& message = *messages.Add();
    message.set_num_destinations(hop.num_destinations);
    message.set_num_sources(hop.num_sources);
    message.set_num_edges(hop.num_edges);
  }
  return messages;
}

std::vector<HopSize> FromProto(const HopSizeMessages& messages) {
  std::vector<HopSize> hops;
  for (const v1::HopSize& message : messages) {
    hops.push_back({.num_destinations = message.num_destinations(),
                    .num_sources = message.num_sources(),
                    .num_edges = message.num_edges()});
  }
  return hops;
}

v1::ProfileSamplingResponse ToProto(const SamplingProfile& profile) {
  v1::ProfileSamplingResponse message;
  message.set_max_task_bytes(profile.max_task_bytes);
  message.set_bound_task_bytes(profile.bound_task_bytes);
  message.set_max_input_nodes(profile.max_input_nodes);
  message.set_max_edges(profile.max_edges);
  message.set_seconds_per_batch(profile.seconds_per_batch);
  message.set_workspace_bytes(profile.workspace_bytes);
  message.set_program_bytes(profile.program_bytes);
  *message.mutable_hops() = ToProto(profile.hops);
  message.set_num_threads(profile.num_threads);
  if (profile.gpu.has_value()) *message.mutable_gpu() = ToProto(*profile.gpu);
  return message;
}

SamplingProfile FromProto(const v1::ProfileSamplingResponse& message) {
  return {.max_task_bytes = message.max_task_bytes(),
          .bound_task_bytes = message.bound_task_bytes(),
          .max_input_nodes = message.max_input_nodes(),
          .max_edges = message.max_edges(),
          .seconds_per_batch = message.seconds_per_batch(),
          .workspace_bytes = message.workspace_bytes(),
          .program_bytes = message.program_bytes(),
          .hops = FromProto(message.hops()),
          .num_threads = message.num_threads(),
          .gpu = GpuOf(message)};
}

v1::ProfileTrainingResponse ToProto(const TrainingProfile& profile) {
  v1::ProfileTrainingResponse message;
  message.set_num_parameters(profile.num_parameters);
  message.set_optimizer_floats_per_parameter(
      profile.optimizer_floats_per_parameter);
  message.set_seconds_per_batch(profile.seconds_per_batch);
  message.set_program_bytes(profile.program_bytes);
  message.set_step_bytes(profile.step_bytes);
  message.set_match_bytes(profile.match_bytes);
  message.set_evaluation_bytes(profile.evaluation_bytes);
  message.set_evaluation_shared_bytes(profile.evaluation_shared_bytes);
  message.set_checkpoint_bytes(profile.checkpoint_bytes);
  if (profile.gpu.has_value()) *message.mutable_gpu() = ToProto(*profile.gpu);
  return message;
}

TrainingProfile FromProto(const v1::ProfileTrainingResponse& message) {
  return {.num_parameters = message.num_parameters(),
          .optimizer_floats_per_parameter =
              message.optimizer_floats_per_parameter(),
          .seconds_per_batch = message.seconds_per_batch(),
          .program_bytes = message.program_bytes(),
          .step_bytes = message.step_bytes(),
          .match_bytes = message.match_bytes(),
          .evaluation_bytes = message.evaluation_bytes(),
          .evaluation_shared_bytes = message.evaluation_shared_bytes(),
          .checkpoint_bytes = message.checkpoint_bytes(),
          .gpu = GpuOf(message)};
}

v1::SplitScore ToProto(const SplitScore& score) {
  v1::SplitScore message;
  message.set_split(score.split);
  message.set_num_vertices(score.num_vertices);
  message.set_num_correct(score.num_correct);
  message.set_loss(score.loss);
  message.set_macro_f1(score.macro_f1);
  if (score.roc_auc.has_value()) message.set_roc_auc(*score.roc_auc);
  if (score.mean_rank.has_value()) message.set_mean_rank(*score.mean_rank);
  if (score.mrr.has_value()) message.set_mrr(*score.mrr);
  if (score.rmse.has_value()) message.set_rmse(*score.rmse);
  if (score.mae.has_value()) message.set_mae(*score.mae);
  if (score.r2.has_value()) message.set_r2(*score.r2);
  if (score.micro_f1.has_value()) message.set_micro_f1(*score.micro_f1);
  return message;
}

SplitScore FromProto(const v1::SplitScore& message) {
  SplitScore score = {.split = message.split(),
                      .num_vertices = message.num_vertices(),
                      .num_correct = message.num_correct(),
                      .loss = message.loss(),
                      .macro_f1 = message.macro_f1()};
  if (message.has_roc_auc()) score.roc_auc = message.roc_auc();
  if (message.has_mean_rank()) score.mean_rank = message.mean_rank();
  if (message.has_mrr()) score.mrr = message.mrr();
  if (message.has_rmse()) score.rmse = message.rmse();
  if (message.has_mae()) score.mae = message.mae();
  if (message.has_r2()) score.r2 = message.r2();
  if (message.has_micro_f1()) score.micro_f1 = message.micro_f1();
  return score;
}

}  // namespace fgnn
