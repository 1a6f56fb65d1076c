#include "scheduler/files/job_dataset.h"

#include <string>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "shared/base/status.h"
#include "shared/graph/dataset.h"

namespace fgnn {
namespace {

constexpr size_t kMostKnown = 100;

// Says what the dataset has for its vertices, and the task that learns it.
absl::Status OtherTask(const DatasetSizes& sizes, Objective asked,
                       const std::string& folder) {
  if (sizes.target_columns == 0) {
    return absl::InvalidArgumentError(absl::StrCat(
        "dataset ", folder, " has labels of ", sizes.num_classes,
        " classes and no targets; set training.task: node_classification, or "
        "import it again with --labels-are ",
        asked == Objective::kValues ? "numbers" : "sets"));
  }
  const Objective objective = sizes.target_type == TargetType::kFloat32
                                  ? Objective::kValues
                                  : Objective::kLabelSets;
  return absl::InvalidArgumentError(absl::StrCat(
      "dataset ", folder, " has targets of ", sizes.target_columns,
      sizes.target_columns == 1 ? " column (" : " columns (",
      std::string(NameOf(sizes.target_type)),
      ") and no labels; set training.task: ", std::string(TaskOf(objective))));
}

absl::Status CheckLabels(const DatasetSizes& sizes, const std::string& folder) {
  if (sizes.has_labels && sizes.num_classes > 0) return absl::OkStatus();
  if (sizes.target_columns > 0) {
    return OtherTask(sizes, Objective::kClasses, folder);
  }
  return absl::InvalidArgumentError(absl::StrCat(
      folder,
      ": labels.npy is missing or metadata.yaml has no num_classes; training "
      "needs labels: import them (CSV: --label-column NAME), or set "
      "training.task: link_prediction"));
}

absl::Status CheckTargets(const DatasetSizes& sizes, Objective objective,
                          const std::string& folder) {
  const TargetType type = objective == Objective::kValues ? TargetType::kFloat32
                                                          : TargetType::kBits;
  if (sizes.target_columns > 0 && sizes.target_type == type) {
    return absl::OkStatus();
  }
  if (sizes.target_columns > 0 || sizes.has_labels) {
    return OtherTask(sizes, objective, folder);
  }
  return absl::InvalidArgumentError(absl::StrCat(
      folder,
      ": targets.npy is missing or metadata.yaml has no target_columns; "
      "training.task ",
      std::string(TaskOf(objective)), " needs targets"));
}

absl::Status CheckVertices(const DatasetSizes& sizes, Objective objective,
                           const std::string& folder) {
  FGNN_RETURN_IF_ERROR(HasTargets(objective)
                           ? CheckTargets(sizes, objective, folder)
                           : CheckLabels(sizes, folder));
  if (sizes.vertices.train > 0) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat(folder,
                   ": train.npy names no vertex; training needs at least one; "
                   "import the dataset again with --train-fraction 0.6, or "
                   "with a split"));
}

absl::Status CheckEdges(const DatasetSizes& sizes, const std::string& folder) {
  if (sizes.edges.train > 0) return absl::OkStatus();
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
        folder,
        ": features.npy is missing; training needs features: import "
        "the dataset again with them (edgelist: --features FILE, "
        "csv: columns of numbers in --nodes)"));
  }
  FGNN_RETURN_IF_ERROR(
      links ? CheckEdges(sizes, folder)
            : CheckVertices(sizes, spec.training.objective(), folder));
  return DatasetFacts{
      .shape = ShapeOf(sizes, spec.training),
      .has_valid = (links ? sizes.edges : sizes.vertices).valid > 0,
      .has_test = (links ? sizes.edges : sizes.vertices).test > 0,
      .host_rows = sizes.host_rows};
}

std::optional<std::string> NoteOnScores(const JobSpec& spec,
                                        const DatasetFacts& facts) {
  if (spec.training.evaluate_every == 0 || facts.has_valid || facts.has_test) {
    return std::nullopt;
  }
  if (spec.training.predicts_links()) {
    return absl::StrCat(
        spec.dataset, " has neither valid_edges.npy nor test_edges.npy: ",
        "link_prediction trains on all edges, and the job ends without a "
        "score. 'fgnn dataset split-edges ",
        spec.dataset, " --out DIR' holds edges out");
  }
  return absl::StrCat(
      spec.dataset,
      " has neither valid.npy nor test.npy: the job ends without "
      "a score. Import the dataset again with --train-fraction 0.6, or with a "
      "split of its own");
}

absl::StatusOr<DatasetFacts> KnownDatasets::Look(const JobSpec& spec) {
  const std::pair key(spec.dataset, spec.training.objective());
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
