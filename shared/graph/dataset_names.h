// Names of a dataset's classes, and of the columns of features and targets.
#ifndef FGNN_SHARED_GRAPH_DATASET_NAMES_H_
#define FGNN_SHARED_GRAPH_DATASET_NAMES_H_

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace fgnn {

inline constexpr char kClassNamesFile[] = "class_names.txt";
inline constexpr char kFeatureNamesFile[] = "feature_names.txt";
inline constexpr char kTargetNamesFile[] = "target_names.txt";

struct DatasetNames {
  // Name c is that of class c; empty: it has none. At most num_classes names.
  // No two classes have the same name.
  std::vector<std::string> classes;
  // Name c is that of column c. At most as many as there are columns.
  std::vector<std::string> features;
  // Name c is that of column c of the targets; empty: it has none. At most as
  // many as there are columns. No two columns have the same name.
  std::vector<std::string> targets = {};

  friend bool operator==(const DatasetNames&, const DatasetNames&) = default;
};

// Reads the three files of `folder`, a line for each name. A file that is not
// there gives no names. InvalidArgument names file and line: there are more
// names than classes or columns, or two classes or targets of one name.
absl::StatusOr<DatasetNames> ReadDatasetNames(
    const std::filesystem::path& folder, uint64_t num_classes,
    uint64_t feature_columns, uint64_t target_columns);

// Returns DatasetNames::targets alone.
absl::StatusOr<std::vector<std::string>> ReadTargetNames(
    const std::filesystem::path& folder, uint64_t target_columns);

}  // namespace fgnn

#endif  // FGNN_SHARED_GRAPH_DATASET_NAMES_H_
