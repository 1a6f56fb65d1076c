#include "scheduler/jobs/job_dataset.h"

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "shared/base/status.h"
#include "shared/graph/dataset.h"

namespace fgnn {

absl::StatusOr<DatasetFacts> LookAtDataset(const std::string& folder) {
  FGNN_ASSIGN_OR_RETURN(const Dataset dataset,
                        Dataset::Open(folder, Validation::kShapes));
  if (dataset.features().rows == 0) {
    return absl::InvalidArgumentError(absl::StrCat(
        folder, ": features.npy is missing; training needs features"));
  }
  if (dataset.labels().empty() || dataset.num_classes() == 0) {
    return absl::InvalidArgumentError(absl::StrCat(
        folder,
        ": labels.npy is missing or metadata.yaml has no num_classes; "
        "training needs labels"));
  }
  if (dataset.train().empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat(folder,
                     ": train.npy names no vertex; training needs at "
                     "least one"));
  }
  return DatasetFacts{.shape = ShapeOf(dataset),
                      .has_valid = !dataset.valid().empty(),
                      .has_test = !dataset.test().empty()};
}

absl::StatusOr<DatasetFacts> ValidateDataset(const std::string& folder) {
  FGNN_RETURN_IF_ERROR(ValidateOnce(folder));
  return LookAtDataset(folder);
}

}  // namespace fgnn
