// The order in which a dataset's vertices are worth caching.
#ifndef FGNN_SHARED_GRAPH_RANK_ORDER_H_
#define FGNN_SHARED_GRAPH_RANK_ORDER_H_

#include <cstdint>
#include <filesystem>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "shared/base/file.h"
#include "shared/base/types.h"
#include "shared/graph/dataset.h"

namespace fgnn {

// Hotness of a vertex: the mini-batches of an epoch that it is an input node
// of, expected by some policy. Its hot rank is its place when all vertices are
// sorted by falling hotness, so that a cache of c rows holds the ranks below c,
// and the place of a row in it is its rank (FGNN, section 6).
//
// A file of the dataset's folder derived/, mapped: all daemons of a machine
// share its pages. Immutable, safe to read from any thread.
class RankOrder {
 public:
  // `key` names the policy and all that it depends on, the dataset aside.
  // NotFound: there is none of this key and this state of the dataset.
  // DataLoss: it is damaged, or no order of all vertices.
  static absl::StatusOr<RankOrder> Open(const Dataset& dataset, uint64_t key);

  // Saves an order: all vertices of the dataset, once each, hottest first.
  // Removes those of other states of the dataset. InvalidArgument: a vertex is
  // missing or there twice. PermissionDenied and the like: the folder cannot be
  // written, naming it.
  static absl::Status Save(const Dataset& dataset, uint64_t key,
                           absl::Span<const GlobalId> vertices);

  // Where that is.
  static std::filesystem::path PathOf(const Dataset& dataset, uint64_t key);

  // [N] vertices()[rank], hottest first.
  absl::Span<const GlobalId> vertices() const { return vertices_; }
  // [N] ranks()[v]; the inverse.
  absl::Span<const uint32_t> ranks() const { return ranks_; }
  // For TaskHeader::rank_order_version; never 0.
  uint32_t version() const { return version_; }

 private:
  RankOrder() = default;

  MappedFile file_;
  absl::Span<const GlobalId> vertices_;
  absl::Span<const uint32_t> ranks_;
  uint32_t version_ = 0;
};

}  // namespace fgnn

#endif  // FGNN_SHARED_GRAPH_RANK_ORDER_H_
