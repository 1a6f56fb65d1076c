// From a stream of edges to csc_indptr.npy and indices.npy in bounded memory:
// edges are spilled to buckets by destination, then each bucket is sorted in
// memory and written once. What every importer and generator ends in.
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
  bool symmetric = false;   // Add (v, u) for every (u, v).
  bool deduplicate = true;  // Keep the first of equal (source, destination).
  bool drop_self_loops = false;
  bool with_weights = false;  // Also writes edge_weights.npy.
  // Of the edges held in memory at a time, in all buffers and the sort; raised
  // to 4 MiB. The edges into 1/65536 of the ids are sorted at once even if they
  // need more.
  uint64_t memory_bytes = uint64_t{256} << 20;
};

struct CscTotals {
  uint64_t num_edges = 0;       // Written.
  uint64_t num_duplicates = 0;  // Dropped.
  uint64_t num_self_loops = 0;  // Dropped.
};

// Not thread-safe. Temporary files live in `folder`/.building and are removed
// by Finish() and by the destructor.
class CscBuilder {
 public:
  static absl::StatusOr<std::unique_ptr<CscBuilder>> Create(
      const std::filesystem::path& folder, const CscBuilderOptions& options);
  virtual ~CscBuilder() = default;

  // The edge source -> destination: source becomes an in-neighbour of
  // destination. ResourceExhausted: disk full, naming the file.
  virtual absl::Status Add(GlobalId source, GlobalId destination,
                           float weight = 1.0F) = 0;

  // Writes the arrays; in-neighbours ascend within a vertex (equal ones in the
  // order they came). InvalidArgument: an id of num_nodes or more was added,
  // naming the edge. `progress` is called with edges written and edges in all.
  virtual absl::StatusOr<CscTotals> Finish(
      uint64_t num_nodes,
      const std::function<void(uint64_t, uint64_t)>& progress) = 0;
};

}  // namespace fgnn

#endif  // FGNN_TOOLS_DATASET_BUILDING_CSC_BUILDER_H_
