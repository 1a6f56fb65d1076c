// Small generated graphs, and a loop over their edges.
#ifndef FGNN_TESTS_UNIT_TOOLS_DATASET_GENERATED_GRAPH_H_
#define FGNN_TESTS_UNIT_TOOLS_DATASET_GENERATED_GRAPH_H_

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <filesystem>
#include <utility>
#include <variant>

#include "absl/types/span.h"
#include "shared/graph/dataset.h"
#include "tests/fakes/status_matchers.h"
#include "tools/dataset/generating/generate.h"

namespace fgnn {

inline RmatOptions SmallRmat(const std::filesystem::path& out) {
  RmatOptions options;
  options.common.out = out;
  options.common.feature_columns = 10;
  options.common.num_classes = 5;
  options.common.seed = 7;
  options.scale = 12;
  options.edge_factor = 8;
  options.weights = true;
  return options;
}

inline SbmOptions SmallSbm(const std::filesystem::path& out) {
  SbmOptions options;
  options.common.out = out;
  options.common.feature_columns = 32;
  options.common.num_classes = 5;
  options.common.seed = 3;
  options.num_nodes = 5000;
  options.average_degree = 12;
  options.homophily = 0.8;
  return options;
}

inline Dataset Open(const std::filesystem::path& folder) {
  absl::StatusOr<Dataset> dataset =
      Dataset::Open(folder, Validation::kEverything);
  EXPECT_THAT(dataset, IsOk());
  return *std::move(dataset);
}

inline absl::Span<const uint32_t> IndicesOf(const Dataset& dataset) {
  return std::get<absl::Span<const uint32_t>>(dataset.graph().indices);
}

// Calls visit(source, destination, edge) for each edge.
template <typename Visit>
void ForEachEdge(const Dataset& dataset, Visit visit) {
  const auto indptr = dataset.graph().indptr;
  const auto indices = IndicesOf(dataset);
  for (uint32_t v = 0; v < dataset.num_nodes(); ++v) {
    for (int64_t e = indptr[v]; e < indptr[v + 1]; ++e) {
      visit(indices[static_cast<size_t>(e)], v, static_cast<size_t>(e));
    }
  }
}

}  // namespace fgnn

#endif  // FGNN_TESTS_UNIT_TOOLS_DATASET_GENERATED_GRAPH_H_
