#include "shared/graph/dataset_names.h"

#include <algorithm>
#include <string_view>
#include <unordered_map>

#include "absl/strings/str_cat.h"
#include "shared/base/files/file.h"
#include "shared/base/status.h"
#include "shared/base/utf8.h"

namespace fgnn {
namespace {

namespace fs = std::filesystem;

// Returns the lines of a file, at most `most`; none if it is not there.
absl::StatusOr<std::vector<std::string>> ReadNames(const fs::path& path,
                                                   uint64_t most,
                                                   std::string_view what) {
  std::vector<std::string> names;
  const absl::StatusOr<std::string> text = ReadSmallFile(path);
  if (absl::IsNotFound(text.status())) return names;
  FGNN_RETURN_IF_ERROR(text.status());
  FGNN_RETURN_IF_ERROR(CheckUtf8File(path.string(), *text));
  std::string_view rest = *text;
  while (!rest.empty()) {
    const size_t end = std::min(rest.find('\n'), rest.size());
    if (names.size() == most) {
      return absl::InvalidArgumentError(absl::StrCat(
          path.string(), ": line ", most + 1, " is one too many, of ", most,
          " ", std::string(what), "; correct the file, or remove it"));
    }
    names.emplace_back(rest.substr(0, end));
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  return names;
}

absl::Status CheckDifferent(const fs::path& path,
                            const std::vector<std::string>& names,
                            std::string_view what) {
  std::unordered_map<std::string_view, size_t> line_of;
  for (size_t i = 0; i < names.size(); ++i) {
    if (names[i].empty()) continue;
    const auto [found, is_new] = line_of.emplace(names[i], i + 1);
    if (is_new) continue;
    return absl::InvalidArgumentError(
        absl::StrCat(path.string(), ": line ", i + 1, " is '", names[i],
                     "' as line ", found->second, "; give each ",
                     std::string(what), " a name of its own"));
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<DatasetNames> ReadDatasetNames(const fs::path& folder,
                                              uint64_t num_classes,
                                              uint64_t feature_columns,
                                              uint64_t target_columns) {
  DatasetNames names;
  FGNN_ASSIGN_OR_RETURN(names.classes, ReadNames(folder / kClassNamesFile,
                                                 num_classes, "classes"));
  FGNN_RETURN_IF_ERROR(
      CheckDifferent(folder / kClassNamesFile, names.classes, "class"));
  FGNN_ASSIGN_OR_RETURN(names.features, ReadNames(folder / kFeatureNamesFile,
                                                  feature_columns, "columns"));
  FGNN_ASSIGN_OR_RETURN(names.targets, ReadTargetNames(folder, target_columns));
  return names;
}

absl::StatusOr<std::vector<std::string>> ReadTargetNames(
    const fs::path& folder, uint64_t target_columns) {
  const fs::path path = folder / kTargetNamesFile;
  FGNN_ASSIGN_OR_RETURN(std::vector<std::string> names,
                        ReadNames(path, target_columns, "targets"));
  FGNN_RETURN_IF_ERROR(CheckDifferent(path, names, "target"));
  return names;
}

}  // namespace fgnn
