// The order in which a dataset's vertices are cached.
#ifndef FGNN_SHARED_GRAPH_RANK_ORDER_H_
#define FGNN_SHARED_GRAPH_RANK_ORDER_H_

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "shared/base/files/file.h"
#include "shared/base/types.h"
#include "shared/graph/dataset.h"

namespace fgnn {

// The hotness of a vertex is the expected number of an epoch's mini-batches
// that it is an input node of, by some policy. Its hot rank is its place when
// all vertices are sorted by falling hotness. A cache of c rows holds the ranks
// below c, and a row's place in it is its rank (FGNN, section 6).
//
// A mapped file of DerivedFiles: all daemons of a machine share its pages.
// Immutable, safe to read from any thread.
class RankOrder {
 public:
  // `key` names the policy and everything that the order depends on, apart from
  // the dataset. NotFound: there is no order of this key and this state of the
  // dataset. DataLoss: the file is damaged, or no order of all vertices.
  static absl::StatusOr<RankOrder> Open(const Dataset& dataset, uint64_t key);

  // Saves an order: all vertices of the dataset, once each, hottest first.
  // Removes the orders of other states of the dataset. InvalidArgument: a
  // vertex is missing or there twice. PermissionDenied and similar errors,
  // naming the folder: neither place can be written.
  static absl::Status Save(const Dataset& dataset, uint64_t key,
                           absl::Span<const GlobalId> vertices);

  // Returns the path of the file where it is beside the dataset.
  static std::filesystem::path PathOf(const Dataset& dataset, uint64_t key);

  // [N] vertices()[rank], hottest first.
  absl::Span<const GlobalId> vertices() const { return vertices_; }
  // Returns a copy of the first `rows` vertices, which does not change once its
  // caller has checked it.
  std::vector<GlobalId> Hottest(uint64_t rows) const {
    return {vertices_.begin(),
            vertices_.begin() + std::min<uint64_t>(rows, vertices_.size())};
  }
  // [N] ranks()[v]; the inverse.
  absl::Span<const uint32_t> ranks() const { return ranks_; }
  // For TaskHeader::rank_order_version; never 0.
  uint32_t version() const { return version_; }

 private:
  RankOrder() = default;

  static absl::StatusOr<RankOrder> Read(const Dataset& dataset, uint64_t key,
                                        MappedFile file);

  MappedFile file_;
  absl::Span<const GlobalId> vertices_;
  absl::Span<const uint32_t> ranks_;
  uint32_t version_ = 0;
};

}  // namespace fgnn

#endif  // FGNN_SHARED_GRAPH_RANK_ORDER_H_
