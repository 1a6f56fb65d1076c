// Reads records of separated fields. As RFC 4180 describes CSV, a field in
// double quotes may hold separators, line ends and doubled quotes.
#ifndef FGNN_TOOLS_DATASET_READING_DELIMITED_TEXT_H_
#define FGNN_TOOLS_DATASET_READING_DELIMITED_TEXT_H_

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "tools/dataset/reading/line_reader.h"

namespace fgnn {

// Not thread-safe. Blank lines between records are skipped.
class DelimitedReader {
 public:
  static absl::StatusOr<DelimitedReader> Open(const std::filesystem::path& path,
                                              char separator = ',');

  // Goes to the next record; returns false after the last. InvalidArgument,
  // naming file and line: a quote never closes, or text stands behind a closing
  // quote.
  absl::StatusOr<bool> Next();

  // Fields of the current record, valid until the next call of Next().
  absl::Span<const std::string_view> fields() const { return fields_; }
  // Returns the place where the current record starts, "nodes.csv:17".
  std::string Place() const;
  const LineReader& lines() const { return lines_; }

  // Returns field `i` of the record as a number, or an error naming place and
  // text.
  absl::StatusOr<int64_t> Integer(size_t i) const;
  // The same for floating point; NaN and infinities are accepted.
  absl::StatusOr<double> Float(size_t i) const;
  // Returns an error unless the record has `count` fields.
  absl::Status ExpectFields(size_t count) const;

 private:
  DelimitedReader(LineReader lines, char separator)
      : lines_(std::move(lines)), separator_(separator) {}
  void Split(std::string_view line);
  absl::Status SplitQuoted(std::string_view line);

  LineReader lines_;
  char separator_;
  uint64_t record_line_ = 0;
  std::string unquoted_;      // Memory of the fields of a record with quotes.
  std::vector<size_t> ends_;  // End of each field in unquoted_.
  std::vector<std::string_view> fields_;
};

}  // namespace fgnn

#endif  // FGNN_TOOLS_DATASET_READING_DELIMITED_TEXT_H_
