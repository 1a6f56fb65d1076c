#include "shared/device/anonymous_memory.h"

#include <malloc.h>

#include <string>

#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "shared/base/files/file.h"
#include "shared/base/status.h"

namespace fgnn {

absl::StatusOr<uint64_t> AnonymousMemoryBytes() {
  ::malloc_trim(0);
  // RssAnon of /proc/self/status is kept per core and lags behind.
  const char* const path = "/proc/self/smaps_rollup";
  FGNN_ASSIGN_OR_RETURN(const std::string text, ReadSmallFile(path));
  for (absl::string_view line : absl::StrSplit(text, '\n')) {
    uint64_t kib = 0;
    if (absl::ConsumePrefix(&line, "Anonymous:") &&
        absl::ConsumeSuffix(&line, "kB") && absl::SimpleAtoi(line, &kib)) {
      return kib * 1024;
    }
  }
  return absl::UnavailableError(
      "/proc/self/smaps_rollup: no line 'Anonymous'; a kernel of 4.14 or later "
      "writes it");
}

}  // namespace fgnn
