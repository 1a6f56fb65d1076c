// How a job lets go of its devices before its end: JobRun::LetGoIfAsked().
//
// The scheduler leases the step behind the newest version, as a trainer would
// that is to make it. So nobody makes it, the version stays the newest, and its
// checkpoint can be written in mid-epoch without any word to the trainers.
// Gradients of that step that are there already are thrown away with the
// segment, and computed again: batches are pure functions. A scheduler that
// dies meanwhile is one owner that is dead; its lease is given back.
#include <chrono>
#include <filesystem>
#include <optional>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/str_cat.h"
#include "scheduler/jobs/job_run.h"
#include "shared/base/status.h"
#include "shared/telemetry/log.h"

namespace fgnn {
namespace {

// A trainer that makes a step takes about so long.
constexpr std::chrono::milliseconds kStepTick{5};

}  // namespace

absl::StatusOr<std::optional<uint64_t>> JobRun::HoldVersion() {
  while (true) {
    // Where no step is left to be made before the stop, it is awaited as ever.
    const std::optional<uint64_t> newest = board().version();
    const std::optional<uint64_t> held = executors_.segment().HoldVersion();
    if (held.has_value()) return held;
    FGNN_RETURN_IF_ERROR(executors_.Tick());
    const absl::StatusOr<bool> changed =
        board().WaitForVersion(newest.value_or(0) + 1, DeadlineIn(kStepTick));
    FGNN_RETURN_IF_ERROR(changed.status());
  }
}

absl::Status JobRun::LetGoIfAsked() {
  const LetGo why = environment_.dispatcher->ShouldLetGo(job_.id);
  if (why == LetGo::kNo) return absl::OkStatus();
  FGNN_ASSIGN_OR_RETURN(const std::optional<uint64_t> version, HoldVersion());
  const absl::Cleanup let_version_go = [this] {
    executors_.segment().LetVersionGo();
  };
  // An epoch that is trained is evaluated, and let go of behind that.
  const uint64_t steps = segment_.steps_per_epoch();
  if (*version == (uint64_t{epochs_done_} + 1) * steps) return absl::OkStatus();
  if (*version > segment_.first_version) {
    FGNN_RETURN_IF_ERROR(
        RecordBatches(BatchesOf(segment_, *version - 1).last_batch));
  }
  const absl::Status saved = SaveHeld(*version);
  if (!saved.ok()) {
    FGNN_RETURN_IF_ERROR(executors_.Tick());  // Cancelled, or beyond repair.
    const absl::Status lost = Annotate(
        saved, absl::StrCat("job ", job_.id,
                            " keeps its devices, for a checkpoint of it could "
                            "not be written"));
    LogError("{}", MessageOf(lost));
    environment_.dispatcher->KeepOn(job_.id, lost);
    EnterPhase(absl::StrCat("epoch ", epochs_done_ + 1));
    return absl::OkStatus();
  }
  LogInfo("job {}: lets go of its devices at step {}{}", job_.id, *version,
          why == LetGo::kGrow ? ", to start again with more" : "");
  let_go_ = why;
  return absl::AbortedError("it lets go of its devices");
}

absl::Status JobRun::SaveHeld(uint64_t version) {
  // Before its first step it starts anew.
  if (version == 0 || saved_version_ == version) return absl::OkStatus();
  EnterPhase(absl::StrCat("saving step ", version));
  FGNN_ASSIGN_OR_RETURN(const std::string state, State());
  const bool whole_epochs = version % segment_.steps_per_epoch() == 0;
  const std::filesystem::path path =
      whole_epochs ? folder_->EpochCheckpoint(epochs_done_)
                   : folder_->StepCheckpoint(epochs_done_, version);
  FGNN_RETURN_IF_ERROR(
      executors_.calls().SaveCheckpoint(path, version, epochs_done_, state));
  saved_version_ = version;
  return folder_->PruneCheckpoints(spec_.training.keep_checkpoints);
}

}  // namespace fgnn
