// Makes csc_indptr.npy and indices.npy from a stream of edges, in bounded
// memory. Edges are spilled to buckets by destination; then each bucket is
// sorted in memory and written once. Every importer and generator uses it.
#ifndef FGNN_TOOLS_DATASET_BUILDING_CSC_BUILDER_H_
#define FGNN_TOOLS_DATASET_BUILDING_CSC_BUILDER_H_

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "shared/base/types.h"

namespace fgnn {

// The weight of the edge that stays of several from u to v.
enum class EqualEdges : uint8_t { kFirst, kSum, kLargest };

// For which edges (u, v) the builder adds (v, u), of the same weight: for none,
// for those whose reverse nobody adds, or for all. With kAll both directions of
// an edge count as equal edges.
enum class Reverses : uint8_t { kNone, kMissing, kAll };

struct CscBuilderOptions {
  Reverses reverses = Reverses::kNone;
  bool deduplicate = true;  // Keeps one of equal (source, destination).
  EqualEdges equal_edges = EqualEdges::kFirst;  // Its weight.
  bool drop_self_loops = false;
  bool with_weights = false;  // Also writes edge_weights.npy.
  // Bytes of the edges held in memory at a time, in all buffers and the sort;
  // at least 4 MiB. The edges into 1/65536 of the ids are sorted at once even
  // if they need more.
  uint64_t memory_bytes = uint64_t{256} << 20;
};

struct CscTotals {
  uint64_t num_edges = 0;       // Number of edges written.
  uint64_t num_merged = 0;      // Equal edges beyond the one that stays.
  uint64_t num_unequal = 0;     // Edges merged of ones with unequal weights.
  uint64_t num_reverses = 0;    // Number of missing reverses made.
  uint64_t num_self_loops = 0;  // Number of self-loops dropped.
};

// Not thread-safe. Temporary files are in `folder`/.building. Finish() and the
// destructor remove them.
class CscBuilder {
 public:
  static absl::StatusOr<std::unique_ptr<CscBuilder>> Create(
      const std::filesystem::path& folder, const CscBuilderOptions& options);
  virtual ~CscBuilder() = default;

  // Adds the edge source -> destination: source becomes an in-neighbour of
  // destination. A weight of NaN is not known yet; see SetMissingWeight().
  // ResourceExhausted, naming the file: the disk is full.
  virtual absl::Status Add(GlobalId source, GlobalId destination,
                           float weight = 1.0F) = 0;

  // Sets the weight of edges whose weight is NaN. Call it before Finish().
  virtual void SetMissingWeight(float weight) = 0;

  // Writes the arrays. In-neighbours ascend within a vertex; equal ones keep
  // the order in which they came. InvalidArgument, naming the edge: an id of
  // num_nodes or more was added, or a sum of weights is beyond f32. `progress`
  // is called with the edges written and the edges in all.
  virtual absl::StatusOr<CscTotals> Finish(
      uint64_t num_nodes,
      const std::function<void(uint64_t, uint64_t)>& progress) = 0;
};

}  // namespace fgnn

#endif  // FGNN_TOOLS_DATASET_BUILDING_CSC_BUILDER_H_
