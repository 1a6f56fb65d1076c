// Makes a dataset for link prediction from any other: some edges are taken out
// of the graph, to be predicted.
#ifndef FGNN_TOOLS_DATASET_BUILDING_SPLIT_EDGES_H_
#define FGNN_TOOLS_DATASET_BUILDING_SPLIT_EDGES_H_

#include <cstdint>
#include <filesystem>

#include "absl/status/statusor.h"
#include "tools/dataset/building/interrupt_cleanup.h"
#include "tools/dataset/building/progress.h"

namespace fgnn {

struct SplitEdgesOptions {
  std::filesystem::path dataset;  // Folder of the dataset; read, never changed.
  std::filesystem::path out;
  // Chances that an edge goes to a split, in [0, 1); their sum is below 1.
  double valid = 0.05;
  double test = 0.05;
  uint64_t seed = 1;
  ProgressCallback progress;              // May be empty.
  InterruptCleanup* interrupt = nullptr;  // Borrowed; may be null.
};

struct SplitEdgesSummary {
  uint64_t num_train = 0;
  uint64_t num_valid = 0;
  uint64_t num_test = 0;
};

// Makes `out`: the dataset, whose graph has only the edges for training.
// train_edges.npy, valid_edges.npy and test_edges.npy have every edge of the
// dataset once between them. The ends of an edge and the seed alone decide
// where it goes. All edges between the same two vertices go together, equal
// ones and those of both directions, whatever metadata.yaml says; each of them
// is in the file. InvalidArgument names the flag or the file. Other errors:
// those of Dataset::Open() and DatasetWriter.
absl::StatusOr<SplitEdgesSummary> SplitEdges(const SplitEdgesOptions& options);

}  // namespace fgnn

#endif  // FGNN_TOOLS_DATASET_BUILDING_SPLIT_EDGES_H_
