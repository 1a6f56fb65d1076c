// Facts about a dataset, for `fgnn dataset info`.
#ifndef FGNN_TOOLS_DATASET_INSPECTING_DATASET_INFO_H_
#define FGNN_TOOLS_DATASET_INSPECTING_DATASET_INFO_H_

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "shared/graph/dataset.h"
#include "shared/graph/dataset_names.h"
#include "shared/graph/metadata.h"
#include "tools/dataset/inspecting/book_info.h"
#include "tools/dataset/inspecting/column_moments.h"
#include "tools/dataset/inspecting/import_account.h"

namespace fgnn {

struct DatasetInfo {
  std::filesystem::path folder;
  DatasetMetadata metadata;
  // Whether every edge has its reverse, whatever the metadata says.
  bool symmetric = false;
  double mean_in_degree = 0;
  uint64_t max_in_degree = 0;
  uint64_t num_without_in_edges = 0;  // Number of vertices.
  uint64_t num_isolated = 0;          // Number of vertices without any edge.
  // Number of vertices without a label, or without all their targets.
  uint64_t num_unlabelled = 0;
  std::vector<uint64_t> label_counts;  // [num_classes]
  // [target_columns], moments of the targets that are there.
  std::vector<ColumnMoments> targets;
  // Classes of no train vertex, ascending.
  std::vector<uint32_t> untrained_classes;
  // Warnings for people, see DatasetWarning(); nullopt: there are none.
  std::optional<std::string> warning;
  std::vector<std::string> notices;  // See DatasetNotices().
  uint64_t num_train = 0;
  uint64_t num_valid = 0;
  uint64_t num_test = 0;
  // Training edges of link prediction; nullopt: all edges of the graph.
  std::optional<uint64_t> num_train_edges;
  uint64_t num_valid_edges = 0;
  uint64_t num_test_edges = 0;
  bool has_edge_weights = false;
  bool has_names = false;    // Whether vertices have names.
  DatasetNames names;        // Names of classes and columns.
  uint64_t total_bytes = 0;  // Bytes of all arrays.
  // What its import read and left out; nullopt: no importer made the dataset.
  std::optional<ImportAccount> account;
  std::optional<BookInfo> book;  // Of this state of the folder.
};

// Returns the warnings of a job on the dataset, joined by "; ": of untrained
// classes and of leaked edges. nullopt: there are none. The dataset must be
// validated (Validation::kStructure).
absl::StatusOr<std::optional<std::string>> DatasetWarning(
    const Dataset& dataset);

// Reads the facts in passes over the topology and the labels or targets.
// Errors: those of Dataset::Open().
absl::StatusOr<DatasetInfo> ReadDatasetInfo(
    const std::filesystem::path& folder);

// Returns several lines for people.
std::string FormatInfo(const DatasetInfo& info);
// Returns one JSON document.
std::string InfoToJson(const DatasetInfo& info);

}  // namespace fgnn

#endif  // FGNN_TOOLS_DATASET_INSPECTING_DATASET_INFO_H_
