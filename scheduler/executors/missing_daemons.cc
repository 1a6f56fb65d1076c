#include "scheduler/executors/missing_daemons.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"

namespace fgnn {

std::string DescribeMissing(const std::vector<std::string>& missing,
                            absl::Span<const ExecutorView> views,
                            const std::string& start_command) {
  std::vector<std::string> items;
  for (const ExecutorView& view : views) {
    const ExecutorPlacement& placement = view.placement;
    std::string item = absl::StrCat(placement.name, " on ", placement.device);
    if (std::find(missing.begin(), missing.end(), item) == missing.end()) {
      continue;
    }
    if (!start_command.empty()) {
      absl::StrAppend(
          &item, " ('",
          absl::StrReplaceAll(start_command,
                              {{"{role}", std::string(NameOf(placement.role))},
                               {"{device}", placement.device}}),
          "')");
    }
    items.push_back(std::move(item));
  }
  return absl::StrJoin(items, ", ");
}

}  // namespace fgnn
