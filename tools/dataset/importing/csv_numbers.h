// The columns of numbers of a CSV file of vertices: which of them are features.
#ifndef FGNN_TOOLS_DATASET_IMPORTING_CSV_NUMBERS_H_
#define FGNN_TOOLS_DATASET_IMPORTING_CSV_NUMBERS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "tools/dataset/building/feature_table.h"
#include "tools/dataset/importing/csv_table.h"
#include "tools/dataset/importing/import_target.h"
#include "tools/dataset/reading/missing_words.h"

namespace fgnn {

// Decides over whole columns, so that no row counts more than another. A column
// that nobody named is a feature if at least half of its values are numbers; it
// may hold no other text then. Not thread-safe.
class CsvNumbers {
 public:
  // `places` are the columns of the file to look at. `named`: the user chose
  // them as features. `table` and `target` must outlive this object.
  static absl::StatusOr<CsvNumbers> Create(std::vector<size_t> places,
                                           bool named, const CsvTable& table,
                                           ImportTarget& target);

  // Adds the values of the next vertex, from the table's record.
  absl::Status Add(absl::Span<const std::string_view> fields);
  // Hands the features to the target; the first row is that of `first_vertex`.
  // Returns their names. InvalidArgument: a feature holds text, or has gaps
  // that the options refuse.
  absl::StatusOr<std::vector<std::string>> Finish(uint64_t first_vertex);

 private:
  struct Column {
    size_t place = 0;
    std::string name;
    MissingCount missing;
    uint64_t num_texts = 0;
    // Error of the first text that is no number, and of the first infinity.
    std::string text_error, infinity_error;
  };

  CsvNumbers(bool named, const CsvTable& table, ImportTarget& target,
             FeatureTable numbers);
  float Parse(std::string_view text, Column& column) const;
  // Returns why the column is no feature; empty: it is one.
  std::string WhyLeftOut(const Column& column) const;
  absl::Status Check(const Column& column) const;
  void Account(const Column& column, const std::string& why, size_t place);
  void NoteFeatures(const std::vector<std::string>& names);

  bool named_;
  const CsvTable& table_;
  ImportTarget& target_;
  FeatureTable numbers_;
  std::vector<Column> columns_;
  std::vector<float> row_;
};

}  // namespace fgnn

#endif  // FGNN_TOOLS_DATASET_IMPORTING_CSV_NUMBERS_H_
