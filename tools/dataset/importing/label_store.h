// The labels of an import on their way to the dataset: a class of each vertex,
// numbers of it, or a set of classes.
#ifndef FGNN_TOOLS_DATASET_IMPORTING_LABEL_STORE_H_
#define FGNN_TOOLS_DATASET_IMPORTING_LABEL_STORE_H_

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "tools/dataset/building/dataset_writer.h"
#include "tools/dataset/building/target_sink.h"
#include "tools/dataset/importing/import.h"

namespace fgnn {

// Finds out what numbers are, unless options.labels_are says it. One column of
// whole numbers is classes. Several columns of 0 and 1 are sets. All others are
// numbers. Not thread-safe.
class LabelStore {
 public:
  // Both must outlive this object.
  LabelStore(const ImportOptions& options, DatasetWriter& writer)
      : options_(options), writer_(writer) {}

  // [N], each -1 (none) or a class. `what` is the file that they come from.
  void SetClasses(std::vector<int64_t> labels, std::string what);

  // Call it once, before the rows, which come in the order of global ids.
  // `as_floats`: the source keeps them as floating point. A note then says that
  // they are taken for classes, and whole numbers that are no classes are
  // numbers. InvalidArgument: so many columns are no labels.
  absl::Status BeginNumbers(uint64_t columns, std::string what, bool as_floats);
  // Adds the row of the next vertex, [columns]; NaN: it has none. Errors do not
  // name the file.
  absl::Status AddNumbers(absl::Span<const float> row);

  // Names of the classes, or of the columns of numbers.
  void SetNames(std::vector<std::string> names) { names_ = std::move(names); }
  // Sets the number of classes that the source states. It counts if labels are
  // classes, and nobody said another number.
  void StateNumClasses(uint32_t num_classes) { stated_classes_ = num_classes; }

  // Whether labels of so many columns may be classes.
  bool MayBeClasses(uint64_t columns) const;
  LabelKind kind() const { return options_.labels_are; }
  bool empty() const { return what_.empty(); }
  uint64_t rows() const;  // Number of vertices that were given labels.

  // Checks the labels, writes them and their names, and adds them to the
  // summary. Labels of no vertex are left out: empty() holds then.
  absl::Status Finish(uint64_t num_nodes, ImportSummary* summary);
  // After Finish(): whether vertex `v` has a label, or all its targets.
  bool Has(uint64_t v) const;
  // After Finish(): the classes of the vertices; empty if labels are others.
  absl::Span<const int64_t> classes() const { return classes_; }
  // Frees the memory of what Has() and classes() know.
  void Forget();

 private:
  absl::Status BeginSink();
  absl::Status FinishAllClasses(ImportSummary* summary);
  void TakeWholeNumbers(ImportSummary* summary);
  absl::Status FinishClasses(uint32_t most, ImportSummary* summary);
  absl::Status FinishTargets(ImportSummary* summary);
  absl::StatusOr<bool> AreSets() const;
  void NoteTargets(bool are_sets, ImportSummary* summary) const;
  absl::Status WriteNames(const char* file) const;

  const ImportOptions& options_;
  DatasetWriter& writer_;
  std::string what_;  // Empty: no labels.
  std::vector<int64_t> classes_;
  std::vector<std::string> names_;
  uint32_t stated_classes_ = 0;
  uint64_t columns_ = 0;  // 0: labels were given as classes.
  bool as_floats_ = false;
  // The only column, as long as all of its numbers may be classes.
  std::vector<float> whole_;
  std::optional<TargetSink> sink_;
};

}  // namespace fgnn

#endif  // FGNN_TOOLS_DATASET_IMPORTING_LABEL_STORE_H_
