#include "scheduler/files/job_dataset.h"

#include <string>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "shared/base/status.h"
#include "shared/graph/dataset.h"

namespace fgnn {
namespace {

constexpr size_t kMostKnown = 100;

absl::Status CheckVertices(const DatasetSizes& sizes,
                           const std::string& folder) {
  if (!sizes.has_labels || sizes.num_classes == 0) {
    return absl::InvalidArgumentError(absl::StrCat(
        folder,
        ": labels.npy is missing or metadata.yaml has no num_classes; "
        "training needs labels"));
  }
  if (sizes.num_train == 0) {
    return absl::InvalidArgumentError(
        absl::StrCat(folder,
                     ": train.npy names no vertex; training needs at "
                     "least one"));
  }
  return absl::OkStatus();
}

absl::Status CheckEdges(const DatasetSizes& sizes, const std::string& folder) {
  if (sizes.num_train_edges > 0) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      folder,
      sizes.has_train_edges ? ": train_edges.npy names" : ": its graph has",
      " no edge; link_prediction needs at least one"));
}

}  // namespace

absl::StatusOr<DatasetFacts> LookAtDataset(const JobSpec& spec) {
  const std::string& folder = spec.dataset;
  FGNN_ASSIGN_OR_RETURN(const DatasetSizes sizes, Dataset::ReadSizes(folder));
  const bool links = spec.training.predicts_links();
  if (sizes.feature_row_bytes == 0) {
    return absl::InvalidArgumentError(absl::StrCat(
        folder, ": features.npy is missing; training needs features"));
  }
  FGNN_RETURN_IF_ERROR(links ? CheckEdges(sizes, folder)
                             : CheckVertices(sizes, folder));
  return DatasetFacts{
      .shape = ShapeOf(sizes, spec.training),
      .has_valid = links ? sizes.num_valid_edges > 0 : sizes.num_valid > 0,
      .has_test = links ? sizes.num_test_edges > 0 : sizes.num_test > 0};
}

absl::StatusOr<DatasetFacts> KnownDatasets::Look(const JobSpec& spec) {
  const std::pair key(spec.dataset, spec.training.predicts_links());
  // The fingerprint is taken before the dataset is opened, so that a change
  // meanwhile is noticed next time.
  const uint64_t fingerprint = FingerprintOf(spec.dataset);
  {
    const MutexLock lock(&mutex_);
    const auto found = known_.find(key);
    if (found != known_.end() && found->second.fingerprint == fingerprint) {
      return found->second.facts;
    }
  }
  FGNN_ASSIGN_OR_RETURN(const DatasetFacts facts, LookAtDataset(spec));
  const MutexLock lock(&mutex_);
  if (known_.size() >= kMostKnown) known_.clear();
  known_.insert_or_assign(key, Known{fingerprint, facts});
  return facts;
}

}  // namespace fgnn
