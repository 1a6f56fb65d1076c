// A dataset for link prediction out of any other: some of its edges are taken
// out of the graph, to be predicted.
#ifndef FGNN_TOOLS_DATASET_BUILDING_SPLIT_EDGES_H_
#define FGNN_TOOLS_DATASET_BUILDING_SPLIT_EDGES_H_

#include <cstdint>
#include <filesystem>

#include "absl/status/statusor.h"
#include "tools/dataset/building/interrupt_cleanup.h"
#include "tools/dataset/building/progress.h"

namespace fgnn {

struct SplitEdgesOptions {
  std::filesystem::path dataset;  // A folder; read, never changed.
  std::filesystem::path out;
  // Chances of an edge, [0, 1); their sum is below 1.
  double valid = 0.05;
  double test = 0.05;
  uint64_t seed = 1;
  ProgressCallback progress;              // May be empty.
  InterruptCleanup* interrupt = nullptr;  // Borrowed; may be none.
};

struct SplitEdgesSummary {
  uint64_t num_train = 0;
  uint64_t num_valid = 0;
  uint64_t num_test = 0;
};

// Makes `out`: the dataset, of whose graph the edges for training are left, and
// train_edges.npy, valid_edges.npy, test_edges.npy, which have every edge of
// the dataset once between them. Where an edge goes follows from its ends and
// the seed alone: all edges that join the same two go together, in a symmetric
// graph those of both directions, and then each direction is in the file.
// InvalidArgument names the flag or the file; else errors of Dataset::Open()
// and DatasetWriter.
absl::StatusOr<SplitEdgesSummary> SplitEdges(const SplitEdgesOptions& options);

}  // namespace fgnn

#endif  // FGNN_TOOLS_DATASET_BUILDING_SPLIT_EDGES_H_
