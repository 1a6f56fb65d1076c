#include "shared/rpc/executor_proto.h"

#include <optional>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "shared/base/printable_text.h"
#include "shared/base/status.h"
#include "shared/config/job_spec_proto.h"
#include "shared/measured/score_fields.h"
#include "shared/rpc/job_hosts_proto.h"

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

// Returns the field of the message that has the score's name.
const google::protobuf::FieldDescriptor* FieldOf(const v1::Scores& message,
                                                 const ScoreField& field) {
  return message.GetDescriptor()->FindFieldByName(field.key);
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
  *message.mutable_arithmetic() = ToProto(profile.arithmetic);
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
          .gpu = GpuOf(message),
          .arithmetic = FromProto(message.arithmetic())};
}

v1::Scores ToProto(const Scores& scores) {
  v1::Scores message;
  for (const ScoreField& field : AllScoreFields()) {
    const std::optional<double>& score = scores.*field.score;
    if (!score.has_value()) continue;
    message.GetReflection()->SetDouble(&message, FieldOf(message, field),
                                       *score);
  }
  return message;
}

Scores FromProto(const v1::Scores& message) {
  Scores scores;
  for (const ScoreField& field : AllScoreFields()) {
    const auto* const of_message = FieldOf(message, field);
    if (!message.GetReflection()->HasField(message, of_message)) continue;
    scores.*field.score =
        message.GetReflection()->GetDouble(message, of_message);
  }
  return scores;
}

v1::SplitScore ToProto(const SplitScore& score) {
  v1::SplitScore message;
  message.set_split(score.split);
  message.set_num_vertices(score.num_vertices);
  message.set_num_correct(score.num_correct);
  message.set_loss(score.loss);
  *message.mutable_scores() = ToProto(score.scores);
  return message;
}

SplitScore FromProto(const v1::SplitScore& message) {
  return {.split = message.split(),
          .num_vertices = message.num_vertices(),
          .num_correct = message.num_correct(),
          .loss = message.loss(),
          .scores = FromProto(message.scores())};
}

v1::OpenJobRequest ToProto(const OpenJobRequest& request) {
  v1::OpenJobRequest message;
  message.set_job_id(request.job_id);
  *message.mutable_spec() = ToProto(request.spec);
  return message;
}

absl::StatusOr<OpenJobRequest> FromProto(const v1::OpenJobRequest& message) {
  if (message.job_id().empty()) {
    return absl::InvalidArgumentError("job_id is empty");
  }
  FGNN_ASSIGN_OR_RETURN(JobSpec spec, ReadSpec(message.spec()));
  return OpenJobRequest{.job_id = message.job_id(), .spec = std::move(spec)};
}

v1::AttachJobRequest ToProto(const AttachJobRequest& request) {
  v1::AttachJobRequest message;
  message.set_job_id(request.job_id);
  message.set_owner(PlainIndex(request.owner));
  if (request.overflow_block.has_value()) {
    message.set_overflow_block(*request.overflow_block);
  }
  message.set_scheduler_generation(request.scheduler_generation);
  message.set_device(request.device);
  *message.mutable_hosts() = ToProto(request.hosts);
  return message;
}

absl::StatusOr<AttachJobRequest> FromProto(
    const v1::AttachJobRequest& message) {
  if (message.job_id().empty()) {
    return absl::InvalidArgumentError("attach: job_id is empty");
  }
  if (message.owner() == PlainIndex(kNoOwner) || message.owner() > kMaxOwners) {
    return absl::InvalidArgumentError(
        absl::StrCat("attach: owner ", message.owner(),
                     " is out of range; it is 1 to ", kMaxOwners));
  }
  AttachJobRequest request = {
      .job_id = message.job_id(),
      .owner = static_cast<OwnerIndex>(message.owner()),
      .overflow_block = std::nullopt,
      .scheduler_generation = message.scheduler_generation(),
      .device = message.device(),
      .hosts = FromProto(message.hosts())};
  if (message.has_overflow_block()) {
    request.overflow_block = message.overflow_block();
  }
  if (!request.hosts.all.empty() &&
      request.hosts.self >= request.hosts.all.size()) {
    return absl::InvalidArgumentError(
        absl::StrCat("attach: host ", request.hosts.self, " of ",
                     request.hosts.all.size(), " hosts"));
  }
  return request;
}

v1::ProfileSamplingRequest ToProto(const ProfileSamplingRequest& request) {
  v1::ProfileSamplingRequest message;
  message.set_job_id(request.job_id);
  message.set_num_batches(request.num_batches);
  return message;
}

ProfileSamplingRequest FromProto(const v1::ProfileSamplingRequest& message) {
  return {.job_id = message.job_id(), .num_batches = message.num_batches()};
}

v1::ValidateDatasetResponse ToProto(const ValidatedDataset& dataset) {
  v1::ValidateDatasetResponse message;
  message.set_state(dataset.state);
  message.set_content(dataset.content);
  message.set_warning(PrintableText(dataset.warning));
  message.set_book(dataset.book);
  message.mutable_train_of_parts()->Add(dataset.train_of_parts.begin(),
                                        dataset.train_of_parts.end());
  return message;
}

ValidatedDataset FromProto(const v1::ValidateDatasetResponse& message) {
  return {.state = message.state(),
          .content = message.content(),
          .warning = message.warning(),
          .book = message.book(),
          .train_of_parts = {message.train_of_parts().begin(),
                             message.train_of_parts().end()}};
}

v1::CountInputNodesRequest ToProto(const CountInputNodesRequest& request) {
  v1::CountInputNodesRequest message;
  message.set_job_id(request.job_id);
  message.set_part(request.part);
  message.set_num_parts(request.num_parts);
  message.set_path(request.path.string());
  return message;
}

absl::StatusOr<CountInputNodesRequest> FromProto(
    const v1::CountInputNodesRequest& message) {
  FGNN_RETURN_IF_ERROR(CheckAbsolute("counts", message.path()));
  return CountInputNodesRequest{.job_id = message.job_id(),
                                .part = message.part(),
                                .num_parts = message.num_parts(),
                                .path = message.path()};
}

v1::RankVerticesRequest ToProto(const RankVerticesRequest& request) {
  v1::RankVerticesRequest message;
  message.set_job_id(request.job_id);
  for (const std::filesystem::path& path : request.counts) {
    message.add_counts(path.string());
  }
  return message;
}

RankVerticesRequest FromProto(const v1::RankVerticesRequest& message) {
  return {.job_id = message.job_id(),
          .counts = {message.counts().begin(), message.counts().end()}};
}

v1::RankVerticesResponse ToProto(const RankedVertices& ranked) {
  v1::RankVerticesResponse message;
  message.set_rank_order_key(ranked.rank_order_key);
  message.set_needs_counts(ranked.needs_counts);
  return message;
}

RankedVertices FromProto(const v1::RankVerticesResponse& message) {
  return {.rank_order_key = message.rank_order_key(),
          .needs_counts = message.needs_counts()};
}

v1::ProfileTrainingRequest ToProto(const ProfileTrainingRequest& request) {
  v1::ProfileTrainingRequest message;
  message.set_job_id(request.job_id);
  *message.mutable_hops() = ToProto(request.hops);
  return message;
}

ProfileTrainingRequest FromProto(const v1::ProfileTrainingRequest& message) {
  return {.job_id = message.job_id(), .hops = FromProto(message.hops())};
}

v1::EvaluateRequest ToProto(const EvaluateRequest& request) {
  v1::EvaluateRequest message;
  message.set_job_id(request.job_id);
  message.set_checkpoint(request.checkpoint.string());
  message.mutable_splits()->Add(request.splits.begin(), request.splits.end());
  message.set_scratch(request.scratch);
  return message;
}

EvaluateRequest FromProto(const v1::EvaluateRequest& message) {
  return {.job_id = message.job_id(),
          .checkpoint = message.checkpoint(),
          .splits = {message.splits().begin(), message.splits().end()},
          .scratch = message.scratch()};
}

v1::EvaluateResponse ToProto(const Evaluation& evaluation) {
  v1::EvaluateResponse message;
  for (const SplitScore& score : evaluation.scores) {
    *message.add_scores() = ToProto(score);
  }
  message.set_seconds(evaluation.seconds);
  return message;
}

Evaluation FromProto(const v1::EvaluateResponse& message) {
  Evaluation evaluation = {.scores = {}, .seconds = message.seconds()};
  for (const v1::SplitScore& score : message.scores()) {
    evaluation.scores.push_back(FromProto(score));
  }
  return evaluation;
}

v1::SaveCheckpointRequest ToProto(const SaveCheckpointRequest& request) {
  v1::SaveCheckpointRequest message;
  message.set_job_id(request.job_id);
  message.set_path(request.path.string());
  message.set_folder_device(request.folder.device);
  message.set_folder_inode(request.folder.inode);
  message.set_version(request.version);
  message.set_epochs_done(request.epochs_done);
  message.set_run_state(request.run_state);
  return message;
}

absl::StatusOr<SaveCheckpointRequest> FromProto(
    const v1::SaveCheckpointRequest& message) {
  FGNN_RETURN_IF_ERROR(CheckAbsolute("checkpoint", message.path()));
  return SaveCheckpointRequest{.job_id = message.job_id(),
                               .path = message.path(),
                               .folder = {.device = message.folder_device(),
                                          .inode = message.folder_inode()},
                               .version = message.version(),
                               .epochs_done = message.epochs_done(),
                               .run_state = message.run_state()};
}

v1::DescribeCheckpointResponse ToProto(const CheckpointProfile& checkpoint) {
  v1::DescribeCheckpointResponse message;
  message.set_version(checkpoint.version);
  message.set_epochs_done(checkpoint.epochs_done);
  message.set_seed(checkpoint.seed);
  message.set_run_state(checkpoint.run_state);
  return message;
}

CheckpointProfile FromProto(const v1::DescribeCheckpointResponse& message) {
  return {.version = message.version(),
          .epochs_done = message.epochs_done(),
          .seed = message.seed(),
          .run_state = message.run_state()};
}

absl::Status CheckAbsolute(const char* what,
                           const std::filesystem::path& path) {
  if (path.is_absolute()) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat(what, ": '", path.string(), "' is not an absolute path"));
}

}  // namespace fgnn
