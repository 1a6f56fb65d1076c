// What becomes of the lines of a text file, for the account of an import.
#ifndef FGNN_TOOLS_DATASET_IMPORTING_LINE_ACCOUNT_H_
#define FGNN_TOOLS_DATASET_IMPORTING_LINE_ACCOUNT_H_

#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "tools/dataset/importing/import_target.h"
#include "tools/dataset/reading/line_reader.h"
#include "tools/dataset/reading/skipped_lines.h"

namespace fgnn {

// Returns the table of a file that was read to its end: its lines, and those
// that are no records. A note to `target` names records that look like
// comments.
AccountTable AccountForLines(const LineReader& lines,
                             const SkippedKinds& skipped, ImportTarget& target);

// Returns the error of a vertex id that is a word for missing. `column` is that
// of the id, or empty.
absl::Status MissingId(std::string_view id, std::string_view column);

}  // namespace fgnn

#endif  // FGNN_TOOLS_DATASET_IMPORTING_LINE_ACCOUNT_H_
