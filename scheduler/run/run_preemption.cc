#include "scheduler/run/run_preemption.h"

#include <chrono>
#include <cstdint>
#include <optional>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/str_cat.h"
#include "shared/base/clock.h"
#include "shared/base/status.h"
#include "shared/queue/job_shape.h"
#include "shared/telemetry/log.h"

namespace fgnn {
namespace {

// A trainer takes about this time for a step.
constexpr std::chrono::milliseconds kStepTick{5};
// Time after a checkpoint that failed in which no host that is lost makes the
// run let go again.
constexpr std::chrono::seconds kTryAgainAfter{60};

absl::Status Preempted() {
  return absl::AbortedError("it lets go of its devices");
}

}  // namespace

PreemptionCause RunPreemption::Cause() const {
  const PreemptionCause why =
      run_.environment.dispatcher->PreemptCause(run_.job.id);
  return why == PreemptionCause::kNone &&
                 parts_.hosts.loss() != HostLoss::kNone &&
                 MonotonicClock::now() >= lost_again_
             ? PreemptionCause::kHostLost
             : why;
}

absl::Status RunPreemption::AnywhereIfAsked() {
  const PreemptionCause why = Cause();
  const bool lacks_rows = why == PreemptionCause::kHostLost &&
                          parts_.hosts.loss() == HostLoss::kRows &&
                          may_without_rows_;
  if (why == PreemptionCause::kNone || !(may_anywhere_ || lacks_rows)) {
    return absl::OkStatus();
  }
  why_ = why;
  return Preempted();
}

absl::StatusOr<uint64_t> RunPreemption::HoldVersion() {
  while (true) {
    // While a trainer makes a step, the version cannot be held, so the next
    // version is awaited.
    const std::optional<uint64_t> newest = run_.board().version();
    const std::optional<uint64_t> held = run_.executors.segment().HoldVersion();
    if (held.has_value()) return *held;
    FGNN_RETURN_IF_ERROR(run_.executors.Tick());
    const absl::StatusOr<bool> changed = run_.board().WaitForVersion(
        newest.value_or(0) + 1, DeadlineIn(kStepTick));
    FGNN_RETURN_IF_ERROR(changed.status());
  }
}

absl::Status RunPreemption::IfAsked() {
  const PreemptionCause why = Cause();
  if (why == PreemptionCause::kNone) return absl::OkStatus();
  FGNN_ASSIGN_OR_RETURN(const uint64_t version, HoldVersion());
  const absl::Cleanup let_version_go = [this] {
    run_.executors.segment().LetVersionGo();
  };
  // If the epoch is trained, it is evaluated first and the job is preempted
  // after that.
  const JobShape shape(run_.started->segment);
  if (StepNumber(version) ==
      shape.StepsOfEpoch(run_.started->epochs_done).end) {
    return absl::OkStatus();
  }
  if (version > run_.started->segment.first_version) {
    FGNN_RETURN_IF_ERROR(parts_.records.RecordUntil(
        shape.BatchesOfStep(StepNumber(version - 1)).end));
  }
  const absl::Status saved = parts_.checkpoints.SaveHeld(version);
  if (!saved.ok()) return KeepOn(saved);
  LogInfo("job {}: lets go of its devices at step {}{}", run_.job.id, version,
          why == PreemptionCause::kGrow ? ", to start again with more" : "");
  why_ = why;
  return Preempted();
}

absl::Status RunPreemption::KeepOn(const absl::Status& saved) {
  FGNN_RETURN_IF_ERROR(run_.executors.Tick());  // Cancelled, or failed.
  const absl::Status lost = Annotate(
      saved, absl::StrCat("job ", run_.job.id,
                          " keeps its devices, for a checkpoint of it could "
                          "not be written"));
  LogError("{}", MessageOf(lost));
  lost_again_ = DeadlineIn(kTryAgainAfter);
  run_.environment.dispatcher->KeepOn(run_.job.id, lost);
  parts_.progress.EnterPhase(
      absl::StrCat("epoch ", run_.started->epochs_done + 1));
  return absl::OkStatus();
}

}  // namespace fgnn
