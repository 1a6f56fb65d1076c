// Errors for a graph whose arrays contradict themselves.
#ifndef FGNN_SAMPLER_SERVICE_SAMPLING_DAMAGED_GRAPH_H_
#define FGNN_SAMPLER_SERVICE_SAMPLING_DAMAGED_GRAPH_H_

#include <cstdint>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace fgnn {

inline absl::Status FallingIndptr() {
  return absl::InvalidArgumentError(
      "csc_indptr.npy falls or leaves [0, number of edges]: validate the "
      "dataset again");
}

// `largest` is the largest index that was read; a negative index is huge.
inline absl::Status CheckIndices(uint64_t largest, uint64_t num_nodes) {
  if (largest < num_nodes) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      "indices.npy holds ", static_cast<int64_t>(largest),
      "; vertices are in [0, ", num_nodes, "): validate the dataset again"));
}

}  // namespace fgnn

#endif  // FGNN_SAMPLER_SERVICE_SAMPLING_DAMAGED_GRAPH_H_
