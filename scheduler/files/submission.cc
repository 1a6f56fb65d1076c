#include "scheduler/files/submission.h"

#include <filesystem>

#include "absl/strings/str_cat.h"
#include "scheduler/files/run_folder.h"
#include "shared/base/status.h"
#include "shared/device/device.h"

namespace fgnn {

absl::Status CheckResumption(const JobSpec& spec, KnownDatasets& datasets) {
  if (!std::filesystem::path(spec.dataset).is_absolute()) {
    return absl::InvalidArgumentError(
        absl::StrCat("dataset '", spec.dataset, "' is not an absolute path"));
  }
  for (const std::string& device : spec.devices) {
    FGNN_RETURN_IF_ERROR(Annotate(ParseDevice(device).status(), "devices"));
  }
  FGNN_ASSIGN_OR_RETURN(const DatasetFacts facts, datasets.Look(spec));
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

absl::Status CheckSubmission(const JobSpec& spec, const std::string& run_dir,
                             KnownDatasets& datasets) {
  FGNN_RETURN_IF_ERROR(CheckResumption(spec, datasets));
  return run_dir.empty() ? absl::OkStatus() : CheckRunFolderIsFree(run_dir);
}

}  // namespace fgnn
