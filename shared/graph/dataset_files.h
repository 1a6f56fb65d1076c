// The files that a dataset folder may have.
#ifndef FGNN_SHARED_GRAPH_DATASET_FILES_H_
#define FGNN_SHARED_GRAPH_DATASET_FILES_H_

#include <array>

namespace fgnn {

// Names of the files that programs read; shared/graph/README.md explains them.
inline constexpr std::array<const char*, 18> kDatasetFiles = {
    "metadata.yaml",  "csc_indptr.npy",   "indices.npy",
    "features.npy",   "labels.npy",       "train.npy",
    "valid.npy",      "test.npy",         "edge_weights.npy",
    "names.txt",      "train_edges.npy",  "valid_edges.npy",
    "test_edges.npy", "class_names.txt",  "feature_names.txt",
    "targets.npy",    "target_names.txt", "book.bin"};

}  // namespace fgnn

#endif  // FGNN_SHARED_GRAPH_DATASET_FILES_H_
