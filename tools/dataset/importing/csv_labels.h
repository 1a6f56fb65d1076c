// The columns of labels of a CSV file of vertices.
#ifndef FGNN_TOOLS_DATASET_IMPORTING_CSV_LABELS_H_
#define FGNN_TOOLS_DATASET_IMPORTING_CSV_LABELS_H_

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "tools/dataset/building/class_labels.h"
#include "tools/dataset/importing/label_store.h"

namespace fgnn {

// A column of the file: its place in a record, and its name.
struct CsvColumn {
  size_t place = 0;
  std::string name;
};

// Hands labels to the store, with the names of their classes or columns. One
// column that may be classes is read as text. Not thread-safe.
class CsvLabels {
 public:
  // `what` names the file. `store` must outlive this object.
  CsvLabels(std::vector<CsvColumn> columns, std::string what,
            LabelStore& store);

  bool Has(size_t place) const;  // Whether one of the columns is there.
  // InvalidArgument: so many columns are no labels.
  absl::Status Begin();
  // Adds the labels of the next vertex, from its record. InvalidArgument names
  // the column that is no number.
  absl::Status Add(absl::Span<const std::string_view> fields);
  absl::Status Finish();

 private:
  std::vector<CsvColumn> columns_;
  std::string what_;
  LabelStore& store_;
  bool as_text_;
  ClassLabels texts_;
  std::vector<float> row_;
};

}  // namespace fgnn

#endif  // FGNN_TOOLS_DATASET_IMPORTING_CSV_LABELS_H_
