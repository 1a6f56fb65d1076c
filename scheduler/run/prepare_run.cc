#include "scheduler/run/prepare_run.h"

#include <algorithm>
#include <filesystem>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "scheduler/files/access/path_rules.h"
#include "scheduler/times/host_speed.h"
#include "shared/base/clock.h"
#include "shared/base/hash.h"
#include "shared/base/status.h"
#include "shared/base/units.h"
#include "shared/config/state_dir.h"
#include "shared/device/memory.h"
#include "shared/telemetry/log.h"

namespace fgnn {
namespace {

absl::Status CheckDatasetIsInRoot(const RunContext& run) {
  const PathRules* const rules = run.environment.paths;
  return rules == nullptr ? absl::OkStatus()
                          : CheckDatasetRoot(*rules, run.spec.dataset,
                                             run.spec.sampling.weights);
}

}  // namespace

absl::StatusOr<RunDataset> OpenDataset(RunContext& run) {
  FGNN_RETURN_IF_ERROR(CheckDatasetIsInRoot(run));
  RunDataset dataset;
  FGNN_ASSIGN_OR_RETURN(dataset.validated, run.executors.ValidateDataset());
  // What the sampler read may have been a link until now.
  FGNN_RETURN_IF_ERROR(CheckDatasetIsInRoot(run));
  FGNN_ASSIGN_OR_RETURN(dataset.facts, LookAtDataset(run.spec));
  run.findings.rows = dataset.facts.host_rows.value_or(HostRows());
  if (!dataset.validated.warning.empty()) {
    LogWarning("job {}: {}", run.job.id, dataset.validated.warning);
  }
  return dataset;
}

absl::StatusOr<PlanInput> MeasureExecutors(RunContext& run,
                                           DevicePlanner& planner) {
  PlanInput input;
  input.job_key = HashString(run.job.id);
  input.spec = run.spec;
  input.dataset = run.dataset->facts.shape;
  input.book = run.dataset->validated.book;
  const uint64_t batches = BatchesPerEpoch(run.dataset->facts.shape.num_train,
                                           run.spec.sampling.batch_size);
  FGNN_ASSIGN_OR_RETURN(
      const std::vector<SamplingProfile> sampling,
      run.executors.calls().ProfileSampling(static_cast<uint32_t>(
          std::min<uint64_t>(batches, kProfiledBatches))));
  input.sampling = sampling.front();
  if (sampling.size() > 1) input.sampling_on_gpus = sampling.back();
  FGNN_ASSIGN_OR_RETURN(input.training, run.executors.calls().ProfileTraining(
                                            input.sampling.hops));
  const TimesByKind times = ProfiledTimes(input);
  planner.SetProfile(times);
  run.findings.arithmetic = input.training.arithmetic;
  run.findings.batches_per_second = BatchesPerSecond(run.spec, times);
  return input;
}

absl::StatusOr<SegmentOptions> PlanSegment(RunContext& run, PlanInput input,
                                           RunMemory& memory) {
  input.num_hosts = std::max<uint64_t>(run.hosts.size(), 1);
  input.places_before = run.places_before();
  input.places_after = run.places_after();
  if (const SeedShares& seeds = run.peers.seeds; seeds.are_own()) {
    input.own_batches = OwnBatchesPerEpoch(
        seeds, TrainOfShares(seeds, run.dataset->validated.train_of_parts),
        run.spec.sampling.batch_size);
  }
  JobPlan plan;
  FGNN_RETURN_IF_ERROR(run.environment.memory->Plan(
      run.job.id, [&](uint64_t of_others) -> absl::StatusOr<uint64_t> {
        FGNN_ASSIGN_OR_RETURN(const uint64_t available, AvailableMemoryBytes());
        input.available_bytes = available - std::min(available, of_others);
        absl::StatusOr<JobPlan> planned = PlanJob(input);
        if (!planned.ok() && of_others > 0) {
          return absl::Status(
              planned.status().code(),
              absl::StrCat(planned.status().message(),
                           "; other jobs that run are still to take ",
                           FormatBytes(of_others)));
        }
        FGNN_ASSIGN_OR_RETURN(plan, std::move(planned));
        return plan.total_bytes;
      }));
  memory.SetPlanned();
  LogInfo("job {}: {} batches an epoch, W = {}, {} parameters; memory {}: {}{}",
          run.job.id, plan.segment.batches_per_epoch,
          plan.segment.batches_per_step, plan.segment.num_parameters,
          FormatBytes(plan.total_bytes), DescribeMemory(plan),
          DescribeGpuMemory(plan));
  if (const std::string limits = DescribeRoleLimits(plan, run.spec);
      !limits.empty()) {
    LogInfo("job {}: {}", run.job.id, limits);
  }
  run.planned_by = std::move(input);
  return plan.segment;
}

absl::StatusOr<uint64_t> RankForCaches(RunContext& run,
                                       const SegmentOptions& segment,
                                       absl::FunctionRef<void()> begins) {
  if (!segment.plans_caches()) return 0;
  absl::StatusOr<uint64_t> key = 0;
  if (run.spec.cache.policy == kOnlinePolicy) {
    key = run.executors.ranking().FindRankOrder();
  } else {
    begins();
    key = run.executors.ranking().RankVertices(
        CountsFolder(run.environment.host->options().state_dir));
  }
  if (!key.ok()) return Annotate(key.status(), "cache.policy");
  return key;
}

absl::Status AttachAll(RunContext& run, DevicePlanner& planner,
                       const SegmentOptions& segment) {
  FGNN_RETURN_IF_ERROR(run.executors.OpenSegment(segment, run.peers));
  // Trainers fill their caches when they are attached, so the plan comes first.
  planner.Begin(&run.executors.segment());
  return run.executors.Tick();
}

absl::Status WaitForFirstWeights(RunContext& run, uint64_t version) {
  while (true) {
    FGNN_RETURN_IF_ERROR(run.executors.Tick());
    FGNN_ASSIGN_OR_RETURN(const bool there, run.board().WaitForVersion(
                                                version, DeadlineIn(kTick)));
    if (there) return absl::OkStatus();
  }
}

}  // namespace fgnn
