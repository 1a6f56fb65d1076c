#include "scheduler/files/submission.h"

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <optional>

#include "absl/strings/str_cat.h"
#include "scheduler/figures/early_stop.h"
#include "scheduler/files/run_folder.h"
#include "shared/base/status.h"
#include "shared/config/job_hosts.h"
#include "shared/device/device.h"

namespace fgnn {
namespace {

// Checks that a job on this host alone finds the rows of all vertices here.
absl::Status CheckRows(const JobSpec& spec, const DatasetFacts& facts) {
  const bool has_others =
      spec.hosts.max > 1 ||
      std::any_of(spec.devices.begin(), spec.devices.end(),
                  [](const Device& one) { return !one.host.empty(); });
  if (has_others || !facts.host_rows.has_value() ||
      !MissingRows({*facts.host_rows}).has_value()) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(absl::StrCat(
      spec.dataset, " has ", Describe(*facts.host_rows),
      " alone, but the job has one host; name devices of the hosts with the "
      "others, set hosts.max, or take the whole dataset"));
}

absl::Status CheckJob(const JobSpec& spec, KnownDatasets& datasets) {
  if (!std::filesystem::path(spec.dataset).is_absolute()) {
    return absl::InvalidArgumentError(
        absl::StrCat("dataset '", spec.dataset, "' is not an absolute path"));
  }
  for (const Device& device : OnHost(spec, "").devices) {
    FGNN_RETURN_IF_ERROR(Annotate(OnThisMachine(device).status(), "devices"));
  }
  FGNN_ASSIGN_OR_RETURN(const DatasetFacts facts, datasets.Look(spec));
  FGNN_RETURN_IF_ERROR(CheckRows(spec, facts));
  const char* const valid = spec.training.predicts_links()
                                ? " has no valid_edges.npy"
                                : " has no valid.npy";
  if (spec.training.patience > 0 && !facts.has_valid) {
    return absl::InvalidArgumentError(absl::StrCat(
        "training.patience is ", spec.training.patience, ", but ", spec.dataset,
        valid, " to validate epochs with; leave it out"));
  }
  if (spec.training.schedule == "plateau" && !facts.has_valid) {
    return absl::InvalidArgumentError(
        absl::StrCat("training.schedule is plateau, but ", spec.dataset, valid,
                     " to validate epochs with; use another schedule"));
  }
  return absl::OkStatus();
}

// InvalidArgument: the run in the folder is complete, and the spec asks for no
// more. A run whose last checkpoint is gone goes on from an earlier one.
absl::Status CheckIsLeftToTrain(const TrainingSpec& training,
                                const std::string& run_dir) {
  const std::optional<CompletedRun> run = ReadCompletedRun(run_dir);
  if (!run.has_value() || run->epochs == 0) return absl::OkStatus();
  const auto epochs = static_cast<uint32_t>(run->epochs);
  if (!HasCheckpointOf(run_dir, epochs)) return absl::OkStatus();
  if (epochs >= training.epochs) {
    return absl::InvalidArgumentError(absl::StrCat(
        "run_dir ", run_dir, " has trained all its ", epochs,
        " epochs, so nothing is left to train; resume it with more epochs: "
        "--set training.epochs=",
        2 * epochs));
  }
  std::optional<uint32_t> best;
  if (run->best_epoch.value_or(0) > 0) best = *run->best_epoch - 1;
  const auto why = WhyStopEarly(training, epochs, best);
  if (!why.has_value()) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      "run_dir ", run_dir, " has stopped after epoch ", epochs, ": ", *why,
      ", so nothing is left to train; resume it without early stops: --set "
      "training.patience=0"));
}

}  // namespace

absl::Status CheckResumption(const JobSpec& spec, const std::string& run_dir,
                             KnownDatasets& datasets) {
  FGNN_RETURN_IF_ERROR(CheckJob(spec, datasets));
  return CheckIsLeftToTrain(spec.training, run_dir);
}

absl::Status CheckSubmission(const JobSpec& spec, const std::string& run_dir,
                             KnownDatasets& datasets) {
  FGNN_RETURN_IF_ERROR(CheckJob(spec, datasets));
  return run_dir.empty() ? absl::OkStatus() : CheckRunFolderIsFree(run_dir);
}

}  // namespace fgnn
