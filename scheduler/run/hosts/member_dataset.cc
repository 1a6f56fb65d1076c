#include "scheduler/run/hosts/member_dataset.h"

#include <string>
#include <system_error>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "shared/base/printable_text.h"

namespace fgnn {
namespace {

namespace fs = std::filesystem;

// Returns the last name of a path, which may end in a slash.
fs::path LastNameOf(const fs::path& path) {
  return path.has_filename() ? path.filename() : path.parent_path().filename();
}

}  // namespace

absl::StatusOr<fs::path> FindDatasetHere(const PathRules& rules,
                                         const fs::path& dataset) {
  std::error_code error;
  if (fs::is_directory(dataset, error) &&
      CheckDatasetRoot(rules, dataset).ok()) {
    return dataset;
  }
  std::vector<std::string> paths = {PrintableText(dataset.string())};
  for (const fs::path& root : rules.dataset_roots) {
    fs::path found = root / LastNameOf(dataset);
    if (fs::is_directory(found, error)) return found;
    paths.push_back(PrintableText(found.string()));
  }
  if (paths.size() == 1) {
    return absl::NotFoundError(absl::StrCat(
        "dataset ", paths.front(),
        " is not on this host; copy or mount it there, or start this host's "
        "scheduler with --dataset-root and the folder that has a copy of the "
        "same name"));
  }
  return absl::NotFoundError(absl::StrCat(
      "dataset: this host has none at ", absl::StrJoin(paths, " or "),
      " in the folders of --dataset-root; copy or mount it there, or name "
      "the folder that has it with --dataset-root"));
}

}  // namespace fgnn
