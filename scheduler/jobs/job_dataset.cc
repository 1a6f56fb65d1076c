#include "scheduler/jobs/job_dataset.h"

#include <string>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "shared/base/status.h"
#include "shared/graph/dataset.h"
#include "shared/graph/untrained_classes.h"

namespace fgnn {
namespace {

constexpr size_t kMostKnown = 100;

absl::Status CheckVertices(const Dataset& dataset, const std::string& folder) {
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
  return absl::OkStatus();
}

absl::Status CheckEdges(const Dataset& dataset, const std::string& folder) {
  if (!dataset.train_edges().empty()) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      folder,
      dataset.has_train_edges() ? ": train_edges.npy names" : ": its graph has",
      " no edge; link_prediction needs at least one"));
}

absl::StatusOr<DatasetFacts> FactsOf(const Dataset& dataset,
                                     const JobSpec& spec) {
  const std::string& folder = spec.dataset;
  const bool links = spec.training.predicts_links();
  if (dataset.features().rows == 0) {
    return absl::InvalidArgumentError(absl::StrCat(
        folder, ": features.npy is missing; training needs features"));
  }
  FGNN_RETURN_IF_ERROR(links ? CheckEdges(dataset, folder)
                             : CheckVertices(dataset, folder));
  return DatasetFacts{.shape = ShapeOf(dataset, spec.training),
                      .has_valid = links ? !dataset.valid_edges().empty()
                                         : !dataset.valid().empty(),
                      .has_test = links ? !dataset.test_edges().empty()
                                        : !dataset.test().empty()};
}

}  // namespace

absl::StatusOr<DatasetFacts> LookAtDataset(const JobSpec& spec) {
  FGNN_ASSIGN_OR_RETURN(const Dataset dataset,
                        Dataset::Open(spec.dataset, Validation::kShapes));
  return FactsOf(dataset, spec);
}

absl::StatusOr<DatasetFacts> KnownDatasets::Look(const JobSpec& spec) {
  const std::pair key(spec.dataset, spec.training.predicts_links());
  // Before it is opened: what changes meanwhile is seen the next time.
  const uint64_t fingerprint = FingerprintOf(spec.dataset);
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    const auto found = known_.find(key);
    if (found != known_.end() && found->second.fingerprint == fingerprint) {
      return found->second.facts;
    }
  }
  FGNN_ASSIGN_OR_RETURN(const DatasetFacts facts, LookAtDataset(spec));
  const std::lock_guard<std::mutex> lock(mutex_);
  if (known_.size() >= kMostKnown) known_.clear();
  known_.insert_or_assign(key, Known{fingerprint, facts});
  return facts;
}

absl::StatusOr<DatasetFacts> ValidateDataset(const JobSpec& spec) {
  FGNN_RETURN_IF_ERROR(ValidateOnce(spec.dataset));
  FGNN_ASSIGN_OR_RETURN(const Dataset dataset,
                        Dataset::Open(spec.dataset, Validation::kShapes));
  FGNN_ASSIGN_OR_RETURN(DatasetFacts facts, FactsOf(dataset, spec));
  if (!spec.training.predicts_links()) {
    facts.warning = UntrainedClassesWarning(dataset).value_or("");
  }
  return facts;
}

}  // namespace fgnn
