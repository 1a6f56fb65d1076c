#include "trainer_service/daemon/trainer_daemon.h"

#include <functional>
#include <utility>

#include "absl/memory/memory.h"
#include "absl/strings/str_cat.h"
#include "shared/base/files/unique_fd.h"
#include "shared/base/status.h"
#include "shared/graph/host_rows.h"
#include "shared/queue/device_table.h"
#include "shared/rpc/certificates/host_certificate.h"
#include "shared/telemetry/log.h"
#include "trainer_service/checkpoint/checkpoint.h"
#include "trainer_service/daemon/trainer_home.h"
#include "trainer_service/daemon/training_profile.h"
#include "trainer_service/rpc/host_channels.h"

namespace fgnn {
namespace {

// Returns the parts whose vertices the trainer caches; empty: all vertices.
std::function<HomeParts()> HomeOf(Segment* segment, const JobSpec& spec,
                                  uint32_t device) {
  if (!segment->options().shares_inputs()) return nullptr;
  return [home = TrainerHome(segment, spec, device)] { return home.parts(); };
}

}  // namespace
absl::StatusOr<std::unique_ptr<TrainerDaemon>> TrainerDaemon::Start(
    const ExecutorDaemonOptions& options, TrainerParts parts,
    const SignalWaiter* stop) {
  auto daemon =
      absl::WrapUnique(new TrainerDaemon(options, std::move(parts), stop));
  FGNN_RETURN_IF_ERROR(daemon->executor_.Start({daemon->service_.get()}));
  return daemon;
}

TrainerDaemon::TrainerDaemon(const ExecutorDaemonOptions& options,
                             TrainerParts parts, const SignalWaiter* stop)
    : parts_(std::move(parts)), executor_(options, "trainer", this, stop) {}

absl::StatusOr<std::unique_ptr<ExecutorJob>> TrainerDaemon::StartJob(
    const ExecutorJobStart& start) {
  const AttachJobRequest& attachment = start.attachment;
  const uint32_t num_threads =
      executor_.NumThreads(start.spec.training.threads);
  FGNN_ASSIGN_OR_RETURN(std::unique_ptr<TrainerBackend> backend,
                        parts_.open(start.spec, static_cast<int>(num_threads)));
  const bool has_part = backend->partitioned() != nullptr;
  if (has_part) FGNN_RETURN_IF_ERROR(LinkRows(attachment, *backend));
  FGNN_ASSIGN_OR_RETURN(std::unique_ptr<Segment> segment, start.segment());
  backend->ShareTables(
      {.owner = attachment.owner,
       .job_key = segment->options().job_key,
       .open =
           [this, job_id = attachment.job_id](uint64_t number) {
             return executor_.RequestScratch(job_id, number);
           },
       .home = HomeOf(segment.get(), start.spec, attachment.device)});
  // A shared table is filled once all trainers are there, and rows of other
  // hosts come once their exchanges are there.
  const TrainerCache cache =
      DeviceTable(segment.get(), kNoOwner).cache(attachment.device);
  if (cache.table == 0 && !has_part) {
    FGNN_RETURN_IF_ERROR(backend->CacheAsPlanned(cache));
  }
  TrainingJobOptions options;
  options.job_id = attachment.job_id;
  options.spec = start.spec;
  options.owner = attachment.owner;
  options.device = attachment.device;
  options.totals = &totals_;
  options.exchanges = parts_.exchanges;
  options.on_failure = start.on_failure;
  LogInfo("job {}: training with {} threads", options.job_id, num_threads);
  return TrainingJob::Start(std::move(options), std::move(backend),
                            std::move(segment));
}

absl::Status TrainerDaemon::LinkRows(const AttachJobRequest& attachment,
                                     TrainerBackend& backend) {
  if (attachment.hosts.all.empty()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "dataset ", backend.dataset().folder().string(), " has ",
        Describe(*backend.dataset().host_rows()),
        " alone, and the job is of one host; name devices of the hosts that "
        "have the other rows, or the whole dataset"));
  }
  if (parts_.tls_dir.empty()) {
    return absl::InvalidArgumentError(
        "a trainer needs --tls-dir DIR to ask other hosts for rows of "
        "features; the scheduler of its host starts it with it");
  }
  FGNN_ASSIGN_OR_RETURN(const HostCertificate shown,
                        ReadHostCertificate(parts_.tls_dir));
  FGNN_ASSIGN_OR_RETURN(
      std::unique_ptr<RowLinks> links,
      fgnn::LinkRows(attachment.job_id, attachment.hosts, shown));
  backend.partitioned()->Link({.links = std::move(links),
                               .hosts = attachment.hosts,
                               .totals = &remote_totals_});
  return absl::OkStatus();
}

void TrainerDaemon::AddMetrics(MetricPage& page) const {
  totals_.AddTo(page);
  for (const auto& [host, totals] : remote_totals_.OfHosts()) {
    const MetricPage::Labels of_host = {{"host", host}};
    page.AddCounter("fgnn_remote_rows_total",
                    "Rows of features that this trainer got of another host.",
                    static_cast<double>(totals.rows), of_host);
    page.AddCounter("fgnn_remote_bytes_total", "Bytes of these rows.",
                    static_cast<double>(totals.bytes), of_host);
    page.AddCounter("fgnn_remote_seconds_total",
                    "Seconds of the requests for these rows, which overlap.",
                    totals.seconds, of_host);
  }
  if (parts_.gpu_bytes != nullptr) AddGpuMemory(parts_.gpu_bytes(), page);
}

absl::StatusOr<TrainingProfile> TrainerDaemon::ProfileTraining(
    const ProfileTrainingRequest& request) {
  FGNN_ASSIGN_OR_RETURN(const std::shared_ptr<const JobSpec> spec,
                        executor_.SpecOf(request.job_id));
  const uint32_t num_threads = executor_.NumThreads(spec->training.threads);
  return fgnn::ProfileTraining(*spec, request.hops,
                               static_cast<int>(num_threads), parts_.open);
}

absl::StatusOr<Evaluation> TrainerDaemon::Evaluate(
    const EvaluateRequest& request, const CallLimits& limits) {
  UniqueFd scratch;
  if (request.scratch != 0) {
    FGNN_ASSIGN_OR_RETURN(
        scratch, executor_.RequestScratch(request.job_id, request.scratch));
  }
  return WithJob<Evaluation>(request.job_id, [&](TrainingJob& job) {
    return job.Evaluate(request, limits, std::move(scratch));
  });
}

absl::Status TrainerDaemon::SaveCheckpoint(const SaveCheckpointRequest& request,
                                           const CallLimits& limits) {
  return executor_.WithJob(request.job_id, [&](ExecutorJob& job) {
    return static_cast<TrainingJob&>(job).SaveCheckpoint(request, limits);
  });
}

absl::StatusOr<CheckpointProfile> TrainerDaemon::DescribeCheckpoint(
    const std::filesystem::path& path) {
  FGNN_ASSIGN_OR_RETURN(Checkpoint checkpoint, ReadCheckpoint(path));
  CheckpointInfo& info = checkpoint.info;
  return CheckpointProfile{.version = info.version,
                           .epochs_done = info.epoch,
                           .seed = info.seed,
                           .run_state = std::move(info.run_state)};
}

absl::StatusOr<std::string> TrainerDaemon::LoadCheckpoint(
    const std::string& job_id, const std::filesystem::path& path,
    const CallLimits& limits) {
  return WithJob<std::string>(job_id, [&](TrainingJob& job) {
    return job.LoadCheckpoint(path, limits);
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
