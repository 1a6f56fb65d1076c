#include "shared/telemetry/process.h"

#include <string>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "shared/base/files/file.h"
#include "shared/base/status.h"

namespace fgnn {
namespace {

// If a process dies while its file is read, the read fails with ESRCH or
// returns nothing.
absl::StatusOr<std::string> ReadOf(pid_t pid, const char* file) {
  const std::string path = absl::StrCat("/proc/", pid, "/", file);
  FGNN_ASSIGN_OR_RETURN(std::string text, ReadSmallFile(path));
  if (text.empty()) {
    return absl::NotFoundError(absl::StrCat("process ", pid, " has ended"));
  }
  return text;
}

}  // namespace

absl::StatusOr<ProcessMemory> ReadProcessMemory(pid_t pid) {
  FGNN_ASSIGN_OR_RETURN(const std::string text, ReadOf(pid, "smaps_rollup"));
  ProcessMemory memory;
  for (const absl::string_view line : absl::StrSplit(text, '\n')) {
    const std::vector<absl::string_view> words =
        absl::StrSplit(line, ' ', absl::SkipEmpty());
    uint64_t kib = 0;
    if (words.size() != 3 || !absl::SimpleAtoi(words[1], &kib)) continue;
    if (words[0] == "Rss:") memory.resident_bytes = kib * 1024;
    if (words[0] == "Pss:") memory.proportional_bytes = kib * 1024;
    if (words[0] == "Anonymous:") memory.anonymous_bytes = kib * 1024;
  }
  return memory;
}

absl::StatusOr<uint64_t> ReadProcessStartTime(pid_t pid) {
  FGNN_ASSIGN_OR_RETURN(const std::string text, ReadOf(pid, "stat"));
  // Field 2, the command in parentheses, may hold blanks and parentheses.
  const size_t command_end = text.rfind(')');
  constexpr size_t kFieldsAfterCommand = 22 - 3;
  uint64_t ticks = 0;
  if (command_end != std::string::npos) {
    const std::vector<absl::string_view> fields =
        absl::StrSplit(absl::string_view(text).substr(command_end + 1), ' ',
                       absl::SkipEmpty());
    if (fields.size() > kFieldsAfterCommand &&
        absl::SimpleAtoi(fields[kFieldsAfterCommand], &ticks)) {
      return ticks;
    }
  }
  return absl::InternalError(
      absl::StrCat("/proc/", pid, "/stat has no start time: ", text));
}

}  // namespace fgnn
