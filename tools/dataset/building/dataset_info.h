// A look at a dataset: what `fgnn dataset info` says.
#ifndef FGNN_TOOLS_DATASET_BUILDING_DATASET_INFO_H_
#define FGNN_TOOLS_DATASET_BUILDING_DATASET_INFO_H_

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "shared/graph/dataset.h"
#include "shared/graph/metadata.h"

namespace fgnn {

struct DatasetInfo {
  std::filesystem::path folder;
  DatasetMetadata metadata;
  double mean_in_degree = 0;
  uint64_t max_in_degree = 0;
  uint64_t num_isolated = 0;  // Without in-neighbours.
  uint64_t num_unlabelled = 0;
  std::vector<uint64_t> label_counts;       // [num_classes]
  std::vector<uint32_t> untrained_classes;  // Of no train vertex, ascending.
  std::optional<std::string> warning;       // That there are such; for people.
  uint64_t num_train = 0;
  uint64_t num_valid = 0;
  uint64_t num_test = 0;
  // Of link prediction. nullopt: all edges of the graph.
  std::optional<uint64_t> num_train_edges;
  uint64_t num_valid_edges = 0;
  uint64_t num_test_edges = 0;
  bool has_edge_weights = false;
  bool has_names = false;
  uint64_t total_bytes = 0;  // Of all arrays.
};

// One pass over the topology and the labels. Errors: Dataset::Open().
absl::StatusOr<DatasetInfo> ReadDatasetInfo(
    const std::filesystem::path& folder);

// For people, several lines.
std::string FormatInfo(const DatasetInfo& info);
// One JSON document.
std::string InfoToJson(const DatasetInfo& info);

}  // namespace fgnn

#endif  // FGNN_TOOLS_DATASET_BUILDING_DATASET_INFO_H_
