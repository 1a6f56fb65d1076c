#include "sampler_service/daemon/sampler_daemon.h"

#include <cstdlib>
#include <optional>
#include <string>
#include <utility>

#include "absl/memory/memory.h"
#include "absl/strings/str_cat.h"
#include "sampler_service/daemon/attached_job.h"
#include "sampler_service/job/job_book.h"
#include "sampler_service/job/job_profile.h"
#include "sampler_service/job/job_ranking.h"
#include "sampler_service/job/job_sampling.h"
#include "shared/base/hash.h"
#include "shared/base/status.h"
#include "shared/config/state_dir.h"
#include "shared/device/device.h"
#include "shared/graph/book/own_rows.h"
#include "shared/graph/leaked_edges.h"
#include "shared/graph/untrained_classes.h"
#include "shared/telemetry/log.h"

namespace fgnn {

absl::StatusOr<std::unique_ptr<SamplerDaemon>> SamplerDaemon::Start(
    const ExecutorDaemonOptions& options, const DeviceOpener& open,
    const SignalWaiter* stop) {
  if (options.device.name.empty()) {
    return absl::InvalidArgumentError(
        "a sampler needs --device and --state-dir; 'fgnn up' and 'fgnn run' "
        "start it with them");
  }
  // A device may start threads, which stay on its cores.
  FGNN_RETURN_IF_ERROR(PinThisThread(options.device));
  FGNN_ASSIGN_OR_RETURN(std::unique_ptr<DeviceSamplers> opened,
                        open(options.device));
  auto daemon =
      absl::WrapUnique(new SamplerDaemon(options, std::move(opened), stop));
  FGNN_RETURN_IF_ERROR(daemon->executor_.Start({daemon->service_.get()}));
  return daemon;
}

SamplerDaemon::SamplerDaemon(const ExecutorDaemonOptions& options,
                             std::unique_ptr<DeviceSamplers> device,
                             const SignalWaiter* stop)
    : stop_(stop),
      state_dir_(options.state_dir),
      plugins_(PluginFolder(options.state_dir)),
      device_(std::move(device)),
      executor_(options, "sampler", this, stop) {}

absl::StatusOr<std::unique_ptr<ExecutorJob>> SamplerDaemon::StartJob(
    const ExecutorJobStart& start) {
  const AttachJobRequest& attachment = start.attachment;
  FGNN_ASSIGN_OR_RETURN(JobSampling sampling,
                        OpenSampling(start.spec, HashString(attachment.job_id),
                                     attachment.hosts.seeds));
  FGNN_ASSIGN_OR_RETURN(std::unique_ptr<Segment> segment, start.segment());
  sampling.factory = device_->ForJob(segment->options().topology_on_host != 0
                                         ? TopologyPlace::kHost
                                         : TopologyPlace::kDevice);
  AttachedJobOptions options;
  if (segment->options().parts > 1) {
    FGNN_ASSIGN_OR_RETURN(
        PartitionBook book,
        OpenJobBook(sampling.dataset, segment->options().book));
    sampling.book = std::make_unique<PartitionBook>(std::move(book));
  }
  options.job_id = attachment.job_id;
  options.owner = attachment.owner;
  options.overflow_block = attachment.overflow_block;
  options.num_threads = NumSamplers(start.spec);
  options.device = attachment.device;
  options.open_memory = [this](absl::Span<std::byte> memory) {
    return device_->Open(memory);
  };
  if (segment->cache_plan().rank_order_key == 0) {
    options.counted_batches = OnlineBatches(start.spec, sampling);
  }
  options.totals = &totals_;
  options.on_failure =
      [this, report = start.on_failure](const absl::Status& failure) {
        EndIfDeviceIsBroken();
        report(failure);
      };
  LogInfo("job {}: sampling with {} threads", options.job_id,
          options.num_threads);
  return UnlessDeviceBroke(AttachedJob::Start(
      std::move(options), std::move(sampling), std::move(segment)));
}

void SamplerDaemon::AddMetrics(MetricPage& page) const {
  totals_.AddTo(page);
  if (const std::optional<uint64_t> bytes = device_->gpu_bytes()) {
    AddGpuMemory(*bytes, page);
  }
}

absl::StatusOr<SamplingProfile> SamplerDaemon::ProfileSampling(
    const ProfileSamplingRequest& request, const CallLimits& limits) {
  FGNN_ASSIGN_OR_RETURN(const std::shared_ptr<const JobSpec> spec,
                        executor_.SpecOf(request.job_id));
  FGNN_ASSIGN_OR_RETURN(const JobSampling job, OpenSampling(*spec));
  const ExecutorDaemon::WatchedCall watched = WatchPlugin(job);
  return UnlessDeviceBroke(
      ProfileJob(*spec, job, *device_, request.num_batches, CheckOf(limits)));
}

absl::StatusOr<ValidatedDataset> SamplerDaemon::ValidateDataset(
    const std::string& job_id, const CallLimits& limits) {
  FGNN_ASSIGN_OR_RETURN(const std::shared_ptr<const JobSpec> spec,
                        executor_.SpecOf(job_id));
  const std::function<absl::Status()> check = CheckOf(limits);
  FGNN_ASSIGN_OR_RETURN(const ValidatedFolder folder,
                        ValidateOnce(spec->dataset, state_dir_, check));
  FGNN_ASSIGN_OR_RETURN(Dataset dataset,
                        Dataset::Open(spec->dataset, Validation::kShapes));
  FGNN_RETURN_IF_ERROR(CheckHostFolder(dataset));
  std::optional<std::string> warning;
  if (spec->training.predicts_links()) {
    FGNN_ASSIGN_OR_RETURN(warning, LeakedEdgesWarning(dataset, check));
  } else {
    FGNN_ASSIGN_OR_RETURN(warning, UntrainedClassesWarning(dataset));
  }
  ValidatedDataset validated = {.state = folder.state,
                                .content = folder.content,
                                .warning = std::move(warning).value_or("")};
  if (NeedsBook(spec->training)) {
    dataset.FindDerivedIn(state_dir_);
    FGNN_RETURN_IF_ERROR(MakeMissingBook(dataset, job_id, check));
    FGNN_ASSIGN_OR_RETURN(const PartitionBook book, OpenJobBook(dataset));
    validated.book = book.key();
  }
  if (spec->training.has_own_seeds()) {
    FGNN_ASSIGN_OR_RETURN(const TrainParts train, ReadTrainParts(dataset));
    validated.book = train.book;
    validated.train_of_parts.resize(kFineParts);
    for (const uint8_t part : train.part_of) ++validated.train_of_parts[part];
  }
  return validated;
}

absl::Status SamplerDaemon::CountInputNodes(
    const CountInputNodesRequest& request, const CallLimits& limits) {
  FGNN_ASSIGN_OR_RETURN(const std::shared_ptr<const JobSpec> spec,
                        executor_.SpecOf(request.job_id));
  FGNN_ASSIGN_OR_RETURN(const JobSampling job, OpenSampling(*spec));
  const ExecutorDaemon::WatchedCall watched = WatchPlugin(job);
  return UnlessDeviceBroke(CountPart(*spec, job,
                                     {.part = request.part,
                                      .num_parts = request.num_parts,
                                      .num_threads = NumSamplers(*spec),
                                      .path = request.path,
                                      .check = CheckOf(limits)}));
}

absl::Status SamplerDaemon::WriteCounts(const std::string& job_id,
                                        const std::filesystem::path& path) {
  return executor_.WithJob(job_id, [&](ExecutorJob& job) {
    return static_cast<AttachedJob&>(job).WriteCounts(path);
  });
}

absl::StatusOr<RankedVertices> SamplerDaemon::RankVertices(
    const RankVerticesRequest& request, const CallLimits& limits) {
  FGNN_ASSIGN_OR_RETURN(const std::shared_ptr<const JobSpec> spec,
                        executor_.SpecOf(request.job_id));
  FGNN_ASSIGN_OR_RETURN(const JobSampling job, OpenSampling(*spec));
  const ExecutorDaemon::WatchedCall watched = WatchPlugin(job);
  FGNN_ASSIGN_OR_RETURN(
      const RankOrderFacts facts,
      UnlessDeviceBroke(MakeRankOrder(
          *spec, job,
          {.counts = request.counts,
           .plugins = plugins_,
           .num_threads = executor_.NumThreads(spec->sampling.threads),
           .num_samplers = NumSamplers(*spec),
           .check = CheckOf(limits)})));
  return RankedVertices{.rank_order_key = facts.key,
                        .needs_counts = facts.needs_counts};
}

absl::StatusOr<JobSampling> SamplerDaemon::OpenSampling(const JobSpec& spec,
                                                        uint64_t job_key,
                                                        SeedShares seeds) {
  EndIfDeviceIsBroken();
  return OpenJobSampling(
      spec, {.job_key = job_key,
             .num_threads = executor_.NumThreads(spec.sampling.threads),
             .plugins = plugins_,
             .state_dir = state_dir_,
             .factory = device_->ForJob(),
             .seeds = std::move(seeds)});
}

// The scheduler starts another process, which samples what this one held.
void SamplerDaemon::EndIfDeviceIsBroken() {
  const absl::Status status = device_->Check();
  if (status.ok()) return;
  LogError("{}; this process ends", MessageOf(status));
  std::_Exit(ExitCode(status));
}

uint32_t SamplerDaemon::NumSamplers(const JobSpec& spec) const {
  return NumSamplersOf(spec, *device_);
}

// FGNN's own samplers return from each batch. A plugin may never return from a
// call.
ExecutorDaemon::WatchedCall SamplerDaemon::WatchPlugin(const JobSampling& job) {
  return ExecutorDaemon::WatchedCall(
      &executor_, [plugin = job.plugin.get()]() -> CallActivity {
        if (plugin == nullptr) return {};
        const LoadedPlugin::Calls calls = plugin->calls();
        return {.progress = calls.count, .working = calls.is_under_way};
      });
}

std::function<absl::Status()> SamplerDaemon::CheckOf(
    const CallLimits& limits) const {
  return [this, &limits]() -> absl::Status {
    if (stop_->stop_requested()) {
      return absl::UnavailableError(
          absl::StrCat(executor_.name(), " is stopping"));
    }
    return limits.Check();
  };
}

}  // namespace fgnn
