// The passes over a dataset's arrays. Each runs at the speed of memory and
// gives the pages back behind itself, so that validation does not inflate the
// process. Private to this folder: the spans must lie in file mappings, whose
// pages can be dropped.
//
// All return InvalidArgument: "FILE: PLACE is VALUE, REASON; WAY OUT".
#ifndef FGNN_SHARED_GRAPH_VALIDATE_H_
#define FGNN_SHARED_GRAPH_VALIDATE_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "shared/graph/dataset.h"

namespace fgnn {

// Returns the CRC32C of `bytes`.
uint32_t CrcOfMapped(absl::Span<const std::byte> bytes);

// Checks that indptr starts at 0, never falls, and ends at num_edges.
absl::Status CheckIndptr(const std::string& file,
                         absl::Span<const EdgeOffset> indptr,
                         uint64_t num_edges);

// Checks that every index is in [0, num_nodes). `is_signed`: the 32-bit ids
// came from '<i4'.
absl::Status CheckIndices(const std::string& file, const CscView& graph,
                          bool is_signed);

// Checks that every label is in [-1, num_classes).
absl::Status CheckLabels(const std::string& file,
                         absl::Span<const int64_t> labels,
                         uint32_t num_classes);

// Checks that every global id is in range, has a label or all its targets, and
// is there once.
absl::Status CheckSplit(const std::string& file, absl::Span<const int64_t> ids,
                        absl::Span<const int64_t> labels,
                        const TargetView& targets, uint64_t num_nodes);

// Checks that both ends of every edge are in [0, num_nodes).
absl::Status CheckEdges(const std::string& file, const EdgeView& edges,
                        uint64_t num_nodes);

// Checks that every feature is finite.
absl::Status CheckFeatures(const std::string& file,
                           const FeatureView& features);

// Checks that every number is finite or NaN, and every bit 0, 1 or kNoBit.
absl::Status CheckTargets(const std::string& file, const TargetView& targets);

// Checks that every weight is finite and not negative.
absl::Status CheckEdgeWeights(const std::string& file,
                              absl::Span<const float> weights);

// Checks that there are as many lines as vertices.
absl::Status CheckNames(const std::string& file, std::string_view text,
                        uint64_t num_nodes);

}  // namespace fgnn

#endif  // FGNN_SHARED_GRAPH_VALIDATE_H_
