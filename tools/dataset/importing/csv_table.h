// Reads CSV files: one with a header row, columns by name and records one after
// the other, or one of edges without a header.
#ifndef FGNN_TOOLS_DATASET_IMPORTING_CSV_TABLE_H_
#define FGNN_TOOLS_DATASET_IMPORTING_CSV_TABLE_H_

#include <filesystem>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "tools/dataset/importing/import_target.h"
#include "tools/dataset/reading/delimited_text.h"
#include "tools/dataset/reading/missing_words.h"

namespace fgnn {

// Not thread-safe.
class CsvTable {
 public:
  // Reads the header. InvalidArgument: the file is empty.
  // Lines that begin with a byte of `comments` are left out.
  static absl::StatusOr<CsvTable> Open(const std::filesystem::path& path,
                                       char separator,
                                       const std::string& comments);

  // Names of the columns, without blanks around them.
  const std::vector<std::string>& header() const { return header_; }
  // Path of the file, for messages.
  const std::string& what() const { return records_.lines().what(); }
  // Returns a column's name in one line: a quoted name may hold the end of one.
  std::string NameOf(size_t column) const;
  // Place of the record in its file, "line 7", and with the file's path.
  std::string Line() const { return records_.Line(); }
  std::string Place() const { return records_.Place(); }
  // Whether a field of the record is missing.
  bool IsMissing(size_t i) const { return records_.IsMissing(i, *words_); }
  uint64_t bytes_in_all() const { return records_.lines().bytes_in_all(); }

  bool Has(const std::string& name) const;  // Whether it has that column.
  // Returns the place of column `name`. NotFound names the file, its columns,
  // the nearest one, and `flag`.
  absl::StatusOr<size_t> Column(const std::string& name,
                                const std::string& flag) const;

  // Calls `add` with the fields of each record, as many as the header has.
  // Reports the progress of `stage` to `target`. Errors name file and line.
  absl::Status ForEachRecord(
      std::string_view stage, ImportTarget& target,
      absl::FunctionRef<absl::Status(absl::Span<const std::string_view>)> add);
  // After ForEachRecord(): returns the account of the lines.
  AccountTable AccountForLines(ImportTarget& target) const;

 private:
  explicit CsvTable(DelimitedReader records) : records_(std::move(records)) {}

  DelimitedReader records_;
  const MissingWords* words_ = nullptr;  // Borrowed; set by ForEachRecord().
  SkippedLines headers_;
  std::vector<std::string> header_;
};

// Adds the edges of a file without a header row, two vertices below num_nodes
// on each line. Errors name file and line. `counted_in` is where num_nodes
// stands, for messages.
absl::Status ReadEdgePairs(const std::filesystem::path& path,
                           uint64_t num_nodes, const std::string& counted_in,
                           ImportTarget& target);

}  // namespace fgnn

#endif  // FGNN_TOOLS_DATASET_IMPORTING_CSV_TABLE_H_
