// The columns of labels of a CSV file of vertices.
#ifndef FGNN_TOOLS_DATASET_IMPORTING_CSV_LABELS_H_
#define FGNN_TOOLS_DATASET_IMPORTING_CSV_LABELS_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "tools/dataset/building/class_labels.h"
#include "tools/dataset/building/text_sets.h"
#include "tools/dataset/importing/import_target.h"

namespace fgnn {

// A column of the file: its place in a record, and its name.
struct CsvColumn {
  size_t place = 0;
  std::string name;
};

// Hands labels to the target, with the names of their classes or columns. One
// column is read as text, unless it must be numbers: a class, or a set of
// classes. Not thread-safe.
class CsvLabels {
 public:
  // `what` names the file. `target` must outlive this object.
  CsvLabels(std::vector<CsvColumn> columns, std::string what,
            ImportTarget& target);

  bool Has(size_t place) const;  // Whether one of the columns is there.
  // InvalidArgument: so many columns are no labels.
  absl::Status Begin();
  // Adds the labels of the next vertex, from its record. InvalidArgument names
  // the column that is no number.
  absl::Status Add(absl::Span<const std::string_view> fields);
  absl::Status Finish();

 private:
  enum class Form : uint8_t { kNone, kNumbers, kTexts, kTextSets };

  static Form FormOf(size_t num_columns, LabelKind kind);
  absl::Status AddNumbers(absl::Span<const std::string_view> fields);
  absl::Status FinishTexts();
  absl::Status FinishTextSets();
  void NameColumns();

  const std::vector<CsvColumn> columns_;
  const std::string what_;
  ImportTarget& target_;
  const Form form_;
  ClassLabels texts_;
  TextSets sets_;
  bool hold_separators_ = false;  // Whether a text may be meant as a set.
  std::vector<float> row_;
};

}  // namespace fgnn

#endif  // FGNN_TOOLS_DATASET_IMPORTING_CSV_LABELS_H_
