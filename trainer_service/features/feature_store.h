// The source of the features of a trainer's input nodes.
#ifndef FGNN_TRAINER_SERVICE_FEATURES_FEATURE_STORE_H_
#define FGNN_TRAINER_SERVICE_FEATURES_FEATURE_STORE_H_

#include <cstddef>
#include <cstdint>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/types/span.h"
#include "shared/base/types.h"
#include "shared/graph/dataset.h"
#include "trainer_service/compute/thread_team.h"

namespace fgnn {

// The rows of a batch that must come from a store: those of nodes[i] with
// ranks[i] >= capacity; all rows if there are no ranks.
struct BatchMisses {
  absl::Span<const GlobalId> nodes;
  absl::Span<const uint32_t> ranks;  // Hot ranks of the nodes, or none.
  uint64_t capacity = 0;

  bool Has(size_t i) const { return ranks.empty() || ranks[i] >= capacity; }
};

// Rows of features by global id, as f32 whatever the dataset stores.
// Thread-safe. N rows, F columns.
class FeatureStore {
 public:
  virtual ~FeatureStore() = default;

  virtual uint64_t num_rows() const = 0;     // N
  virtual uint64_t num_columns() const = 0;  // F

  // Type of the stored features.
  virtual FeatureType type() const = 0;
  uint64_t row_bytes() const { return num_columns() * BytesOf(type()); }

  // Copies the rows of `nodes`, in their order, to out [nodes.size(), F], on
  // the calling thread. Every node is below N (see CheckNodes). Errors: those
  // of reading, naming the file.
  virtual absl::Status CopyRows(absl::Span<const GlobalId> nodes,
                                float* out) const = 0;

  // Copies the stored rows in the same way to out [nodes.size(), row_bytes()].
  virtual absl::Status CopyStoredRows(absl::Span<const GlobalId> nodes,
                                      std::byte* out) const = 0;

  // Does the same with all threads of `team`.
  virtual absl::Status LoadStoredRows(absl::Span<const GlobalId> nodes,
                                      std::byte* out, ThreadTeam& team) const;

  // Returns all rows [N, row_bytes()] if they lie in memory, else null.
  virtual const std::byte* data() const = 0;
  // Returns the same as f32; null if they are of another type.
  const float* AsFloats() const {
    return type() == FeatureType::kFloat32
               ? reinterpret_cast<const float*>(data())
               : nullptr;
  }

  // Copies the rows of node i of the misses to row i of out, with all threads
  // of `team`. Every node is below N. Meanwhile several threads call
  // other(first, last) for parts that make up [0, nodes.size()). There the
  // caller handles the other rows. Errors: those of reading; some parts may not
  // have been handled by then.
  using OtherRows = absl::FunctionRef<void(size_t first, size_t last)>;
  virtual absl::Status ExtractMisses(const BatchMisses& misses, float* out,
                                     ThreadTeam& team, OtherRows other) const;

  // Returns how many rows of the misses another host of the job sends.
  virtual uint64_t CountRemote(const BatchMisses& /*misses*/) const {
    return 0;
  }

  // Checks the nodes, then copies rows like CopyRows(), with all threads of
  // `team`. InvalidArgument: a global id is not below N.
  absl::Status Extract(absl::Span<const GlobalId> nodes, float* out,
                       ThreadTeam& team) const;
};

// Rows of one task of an extraction: enough to prefetch ahead, few enough to
// share evenly.
inline constexpr size_t kExtractedRowsPerTask = 512;

// InvalidArgument names the first global id that is not below num_rows.
absl::Status CheckNodes(absl::Span<const GlobalId> nodes, uint64_t num_rows);

}  // namespace fgnn

#endif  // FGNN_TRAINER_SERVICE_FEATURES_FEATURE_STORE_H_
