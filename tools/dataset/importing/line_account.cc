#include "tools/dataset/importing/line_account.h"

#include "absl/strings/str_cat.h"
#include "shared/base/units.h"

namespace fgnn {

AccountTable AccountForLines(const LineReader& lines,
                             const SkippedKinds& skipped,
                             ImportTarget& target) {
  AccountTable table;
  table.source = SourceName(lines.what());
  table.unit = "lines";
  table.read = lines.line_number();
  const auto leave_out = [&table](const char* reason,
                                  const SkippedLines& skipped_lines) {
    AddReason(reason, skipped_lines.count(), skipped_lines.first(),
              table.left_out);
  };
  leave_out("header", skipped.headers);
  leave_out("comments", skipped.comments);
  leave_out("blank", skipped.blanks);
  leave_out("further lines of quoted fields", skipped.continuations);
  const SkippedLines& like = skipped.like_comments;
  if (like.count() > 0) {
    target.Note(
        absl::StrCat(lines.what(), ": ", FormatCount(like.count()),
                     " lines begin with # or % and are taken for data (first ",
                     like.first(), "); --comment '#%' leaves such lines out"));
  }
  return table;
}

absl::Status MissingId(std::string_view id, std::string_view column) {
  return absl::InvalidArgumentError(absl::StrCat(
      column.empty() ? std::string("a vertex id")
                     : absl::StrCat("column '", std::string(column), "'"),
      " is missing ('", std::string(id),
      "'): drop the line; if it is a name, quote it in csv, or pass other "
      "words "
      "to --missing"));
}

}  // namespace fgnn
