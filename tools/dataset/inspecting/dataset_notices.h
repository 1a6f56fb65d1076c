// Notices about a dataset that is valid, but perhaps not what its user meant.
#ifndef FGNN_TOOLS_DATASET_INSPECTING_DATASET_NOTICES_H_
#define FGNN_TOOLS_DATASET_INSPECTING_DATASET_NOTICES_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "shared/graph/dataset.h"

namespace fgnn {

// Labels and splits of a dataset, borrowed. Ids are in range, and a split has
// each of them once.
struct LabelledVertices {
  uint64_t num_nodes = 0;
  uint32_t num_classes = 0;
  absl::Span<const int64_t> labels;  // [num_nodes], or empty.
  absl::Span<const int64_t> train;
  absl::Span<const int64_t> valid;
  absl::Span<const int64_t> test;
};

// Returns a line for each pair of splits that share vertices, and a line about
// the classes that no vertex has. Takes a bit of memory for each vertex.
std::vector<std::string> LabelNotices(const LabelledVertices& vertices);

// Returns the notices of an open dataset: those of LabelNotices(), what its
// import left out, and the arrays of its folder that no program reads. The
// labels must be validated (Validation::kStructure). Errors: those of
// ReadMetadata().
absl::StatusOr<std::vector<std::string>> DatasetNotices(const Dataset& dataset);

}  // namespace fgnn

#endif  // FGNN_TOOLS_DATASET_INSPECTING_DATASET_NOTICES_H_
