// Labels that are given for lists of vertices instead of for all.
#ifndef FGNN_TOOLS_DATASET_IMPORTING_SEED_LABELS_H_
#define FGNN_TOOLS_DATASET_IMPORTING_SEED_LABELS_H_

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "tools/dataset/importing/label_store.h"
#include "tools/dataset/reading/array_stream.h"

namespace fgnn {

// Not thread-safe. Memory: 8 bytes for each vertex, and the labels.
class SeedLabels {
 public:
  // `store` must outlive this object.
  SeedLabels(uint64_t num_nodes, LabelStore& store)
      : num_nodes_(num_nodes), store_(store) {}

  // Reads the labels of `seeds` from an .npy file, [seeds] or [seeds, columns].
  // `seeds_file` names these for messages. InvalidArgument: the numbers of
  // either, or of the columns, do not fit.
  absl::Status Add(const std::filesystem::path& labels_file,
                   const std::filesystem::path& seeds_file,
                   absl::Span<const int64_t> seeds);

  // Hands the labels of all vertices to the store, under the name `what`. Does
  // nothing if none were added. InvalidArgument: the table of all vertices
  // would hold next to nothing but gaps.
  absl::Status HandOver(const std::string& what);

 private:
  absl::Status CheckShape(const ArrayStream& labels,
                          const std::filesystem::path& seeds_file,
                          size_t num_seeds) const;
  absl::Status CheckSize(const std::string& what) const;

  uint64_t num_nodes_;
  LabelStore& store_;
  uint64_t columns_ = 0;    // 0: no labels were added.
  bool as_floats_ = false;  // Whether a file holds floating point.
  // Row of each vertex in the values, or -1.
  std::vector<int64_t> row_of_;
  std::vector<float> values_;  // [rows, columns]
};

}  // namespace fgnn

#endif  // FGNN_TOOLS_DATASET_IMPORTING_SEED_LABELS_H_
