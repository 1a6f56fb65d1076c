#include "trainer_service/daemon/trainer_daemon.h"

#include <utility>

#include "absl/memory/memory.h"
#include "shared/base/files/unique_fd.h"
#include "shared/base/status.h"
#include "shared/queue/device_table.h"
#include "shared/telemetry/log.h"
#include "trainer_service/checkpoint/checkpoint.h"
#include "trainer_service/daemon/training_profile.h"

namespace fgnn {

absl::StatusOr<std::unique_ptr<TrainerDaemon>> TrainerDaemon::Start(
    const ExecutorDaemonOptions& options, TrainerParts parts,
    const SignalWaiter* stop) {
  auto daemon =
      absl::WrapUnique(new TrainerDaemon(options, std::move(parts), stop));
  FGNN_RETURN_IF_ERROR(daemon->executor_.Start({daemon->rpc_.service()}));
  return daemon;
}

TrainerDaemon::TrainerDaemon(const ExecutorDaemonOptions& options,
                             TrainerParts parts, const SignalWaiter* stop)
    : parts_(std::move(parts)),
      rpc_(this),
      executor_(options, "trainer", this, stop) {}

absl::StatusOr<std::unique_ptr<ExecutorJob>> TrainerDaemon::StartJob(
    const ExecutorJobStart& start) {
  const JobAttachment& attachment = start.attachment;
  const uint32_t num_threads =
      executor_.NumThreads(attachment.spec.training.threads);
  FGNN_ASSIGN_OR_RETURN(
      std::unique_ptr<TrainerBackend> backend,
      parts_.open(attachment.spec, static_cast<int>(num_threads)));
  FGNN_ASSIGN_OR_RETURN(std::unique_ptr<Segment> segment, start.segment());
  backend->ShareTables(
      {.owner = attachment.owner,
       .job_key = segment->options().job_key,
       .open = [this, job_id = attachment.job_id](uint64_t number) {
         return executor_.RequestScratch(job_id, number);
       }});
  // A shared table is filled once all trainers are there.
  const TrainerCache cache =
      DeviceTable(segment.get(), kNoOwner).cache(attachment.device);
  if (cache.table == 0) {
    FGNN_RETURN_IF_ERROR(backend->CacheAsPlanned(cache));
  }
  TrainingJobOptions options;
  options.job_id = attachment.job_id;
  options.spec = attachment.spec;
  options.owner = attachment.owner;
  options.device = attachment.device;
  options.totals = &totals_;
  options.exchanges = parts_.exchanges;
  options.on_failure = start.on_failure;
  LogInfo("job {}: training with {} threads", options.job_id, num_threads);
  return TrainingJob::Start(std::move(options), std::move(backend),
                            std::move(segment));
}

void TrainerDaemon::AddMetrics(MetricPage& page) const {
  totals_.AddTo(page);
  if (parts_.gpu_bytes != nullptr) AddGpuMemory(parts_.gpu_bytes(), page);
}

absl::StatusOr<TrainingProfile> TrainerDaemon::ProfileTraining(
    const JobSpec& spec, const std::vector<HopSize>& hops) {
  const uint32_t num_threads = executor_.NumThreads(spec.training.threads);
  return fgnn::ProfileTraining(spec, hops, static_cast<int>(num_threads),
                               parts_.open);
}

absl::StatusOr<EvaluationAnswer> TrainerDaemon::Evaluate(
    const EvaluationQuery& query, const CallLimits& limits) {
  UniqueFd scratch;
  if (query.scratch != 0) {
    FGNN_ASSIGN_OR_RETURN(
        scratch, executor_.RequestScratch(query.job_id, query.scratch));
  }
  return WithJob<EvaluationAnswer>(query.job_id, [&](TrainingJob& job) {
    return job.Evaluate(query, limits, std::move(scratch));
  });
}

absl::StatusOr<SaveAnswer> TrainerDaemon::SaveCheckpoint(
    const SaveQuery& query, const CallLimits& limits) {
  return WithJob<SaveAnswer>(query.job_id, [&](TrainingJob& job) {
    return job.SaveCheckpoint(query, limits);
  });
}

absl::StatusOr<CheckpointFacts> TrainerDaemon::DescribeCheckpoint(
    const std::filesystem::path& path) {
  FGNN_ASSIGN_OR_RETURN(Checkpoint checkpoint, ReadCheckpoint(path));
  CheckpointInfo& info = checkpoint.info;
  return CheckpointFacts{info.version, info.epoch, info.seed,
                         std::move(info.run_state)};
}

absl::StatusOr<std::string> TrainerDaemon::LoadCheckpoint(
    const LoadQuery& query, const CallLimits& limits) {
  return WithJob<std::string>(query.job_id, [&](TrainingJob& job) {
    return job.LoadCheckpoint(query.path, limits);
  });
}

template <typename Answer>
absl::StatusOr<Answer> TrainerDaemon::WithJob(
    const std::string& job_id,
    absl::FunctionRef<absl::StatusOr<Answer>(TrainingJob&)> command) {
  absl::StatusOr<Answer> answer;
  FGNN_RETURN_IF_ERROR(executor_.WithJob(job_id, [&](ExecutorJob& job) {
    // StartJob() makes no other kind of job.
    answer = command(static_cast<TrainingJob&>(job));
    return answer.status();
  }));
  return answer;
}

}  // namespace fgnn
