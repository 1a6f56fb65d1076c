// Counts the lines of a text that are no data.
#ifndef FGNN_TOOLS_DATASET_READING_SKIPPED_LINES_H_
#define FGNN_TOOLS_DATASET_READING_SKIPPED_LINES_H_

#include <cstdint>
#include <string>
#include <string_view>

#include "shared/base/printable_text.h"

namespace fgnn {

// A kind of lines that were left out, with the first of them.
class SkippedLines {
 public:
  // Counts the line at `place`, "edges.csv:3".
  template <typename Place>
  void Add(std::string_view line, const Place& place) {
    constexpr size_t kShownBytes = 60;
    if (count_++ > 0) return;
    first_ = place();
    if (!line.empty()) {
      first_ += ": '" + PrintableText(line, kShownBytes) + "'";
    }
  }
  uint64_t count() const { return count_; }
  // Place and text of the first line; empty: there is none.
  const std::string& first() const { return first_; }

 private:
  uint64_t count_ = 0;
  std::string first_;
};

// The lines of a file that are no records.
struct SkippedKinds {
  SkippedLines headers;
  SkippedLines comments;
  SkippedLines blanks;
  // Further lines of a record that has line ends in a quoted field.
  SkippedLines continuations;
  // Records that begin with # or %, where these start no comments. They are
  // used.
  SkippedLines like_comments;
};

}  // namespace fgnn

#endif  // FGNN_TOOLS_DATASET_READING_SKIPPED_LINES_H_
