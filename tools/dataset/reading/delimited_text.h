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
#include "tools/dataset/reading/missing_words.h"
#include "tools/dataset/reading/number_text.h"
#include "tools/dataset/reading/skipped_lines.h"

namespace fgnn {

// Not thread-safe. Blank lines between records are skipped.
class DelimitedReader {
 public:
  // Lines that begin with a byte of `comments`, perhaps behind blanks, are
  // skipped too.
  static absl::StatusOr<DelimitedReader> Open(const std::filesystem::path& path,
                                              char separator = ',',
                                              std::string comments = "");

  // Goes to the next record; returns false after the last. InvalidArgument,
  // naming file and line: a quote never closes, or text stands behind a closing
  // quote.
  absl::StatusOr<bool> Next();

  // Fields of the current record, valid until the next call of Next().
  absl::Span<const std::string_view> fields() const { return fields_; }
  // Whether field `i` of the record is missing. A word in quotes is data.
  bool IsMissing(size_t i, const MissingWords& words) const {
    return words.Has(fields_[i]) &&
           (quoted_.empty() || !quoted_[i] || TrimBlanks(fields_[i]).empty());
  }
  // Returns the place where the current record starts, "nodes.csv:17".
  std::string Place() const;
  std::string Line() const;  // The same without the file, "line 17".
  const LineReader& lines() const { return lines_; }
  // The lines so far that are no records.
  const SkippedKinds& skipped() const { return skipped_; }

  // Returns field `i` of the record as a number, or an error naming place and
  // text.
  absl::StatusOr<int64_t> Integer(size_t i) const;
  // The same for floating point; NaN and infinities are accepted.
  absl::StatusOr<double> Float(size_t i) const;
  // Returns an error unless the record has `count` fields.
  absl::Status ExpectFields(size_t count) const;

 private:
  DelimitedReader(LineReader lines, char separator, std::string comments)
      : lines_(std::move(lines)),
        separator_(separator),
        comments_(std::move(comments)) {}
  bool Skips(std::string_view line);
  void Split(std::string_view line);
  absl::Status SplitQuoted(std::string_view line);

  LineReader lines_;
  char separator_;
  std::string comments_;
  SkippedKinds skipped_;
  uint64_t record_line_ = 0;
  std::string unquoted_;      // Memory of the fields of a record with quotes.
  std::vector<size_t> ends_;  // End of each field in unquoted_.
  std::vector<std::string_view> fields_;
  std::vector<bool> quoted_;  // [fields]; empty: none is quoted.
};

}  // namespace fgnn

#endif  // FGNN_TOOLS_DATASET_READING_DELIMITED_TEXT_H_
