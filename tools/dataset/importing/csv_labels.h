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
#include "tools/dataset/importing/csv_table.h"
#include "tools/dataset/importing/import_target.h"
#include "tools/dataset/reading/missing_words.h"

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

  // InvalidArgument: so many columns are no labels.
  absl::Status Begin();
  // Adds the labels of the next vertex, from the table's record.
  // InvalidArgument names the column that is no number.
  absl::Status Add(absl::Span<const std::string_view> fields,
                   const CsvTable& table);
  // Adds vertices that have no labels.
  absl::Status AddNone(uint64_t num_vertices);
  // Goes on with another file that has the columns at other places.
  void SetPlaces(absl::Span<const size_t> places, std::string what);
  uint64_t num_vertices() const { return num_vertices_; }
  absl::Status Finish();

 private:
  enum class Form : uint8_t { kNone, kNumbers, kTexts, kTextSets };

  static Form FormOf(size_t num_columns, LabelKind kind);
  // Returns true if the label of column `i` is missing, and counts it then.
  bool CountMissing(size_t i, std::string_view text, const CsvTable& table);
  absl::Status AddNumbers(absl::Span<const std::string_view> fields,
                          const CsvTable& table);
  absl::Status FinishTexts();
  absl::Status FinishTextSets();
  void NameColumns();

  void Account();

  std::vector<CsvColumn> columns_;
  std::string what_;
  ImportTarget& target_;
  const Form form_;
  ClassLabels texts_;
  TextSets sets_;
  bool hold_separators_ = false;  // Whether a text may be meant as a set.
  uint64_t num_vertices_ = 0;
  std::vector<float> row_;
  std::vector<MissingCount> missing_;  // [columns]
};

}  // namespace fgnn

#endif  // FGNN_TOOLS_DATASET_IMPORTING_CSV_LABELS_H_
