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

struct CscBuilderOptions {
  bool symmetric = false;   // Adds (v, u) for every (u, v).
  bool deduplicate = true;  // Keeps the first of equal (source, destination).
  bool drop_self_loops = false;
  bool with_weights = false;  // Also writes edge_weights.npy.
  // Bytes of the edges held in memory at a time, in all buffers and the sort;
  // at least 4 MiB. The edges into 1/65536 of the ids are sorted at once even
  // if they need more.
  uint64_t memory_bytes = uint64_t{256} << 20;
};

struct CscTotals {
  uint64_t num_edges = 0;       // Number of edges written.
  uint64_t num_duplicates = 0;  // Number of duplicates dropped.
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
  // destination. ResourceExhausted, naming the file: the disk is full.
  virtual absl::Status Add(GlobalId source, GlobalId destination,
                           float weight = 1.0F) = 0;

  // Writes the arrays. In-neighbours ascend within a vertex; equal ones keep
  // the order in which they came. InvalidArgument, naming the edge: an id of
  // num_nodes or more was added. `progress` is called with the edges written
  // and the edges in all.
  virtual absl::StatusOr<CscTotals> Finish(
      uint64_t num_nodes,
      const std::function<void(uint64_t, uint64_t)>& progress) = 0;
};

}  // namespace fgnn

#endif  // FGNN_TOOLS_DATASET_BUILDING_CSC_BUILDER_H_
