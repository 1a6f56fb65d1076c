// The features of the hottest vertices, compact and in rank order, in front of
// a store (FGNN, section 6).
#ifndef FGNN_TRAINER_SERVICE_FEATURES_CPU_FEATURE_CACHE_H_
#define FGNN_TRAINER_SERVICE_FEATURES_CPU_FEATURE_CACHE_H_

#include <cstddef>
#include <cstdint>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "shared/base/types.h"
#include "shared/device/memory.h"
#include "trainer_service/compute/thread_team.h"
#include "trainer_service/features/feature_store.h"

namespace fgnn {

// Row r holds the features of the vertex of hot rank r, as the store has them:
// a vertex is cached if its rank is below capacity(), and its rank is its
// place. Immutable; safe to read from any thread.
class FeatureCache {
 public:
  // No rows: everything is a miss. Borrows the store.
  explicit FeatureCache(const FeatureStore* store) : store_(store) {}

  // Reads the rows of `hottest`, the first vertices of a rank order, from the
  // store. ResourceExhausted: no memory, with need. Else the store's errors.
  static absl::StatusOr<FeatureCache> Load(const FeatureStore* store,
                                           absl::Span<const GlobalId> hottest,
                                           ThreadTeam& team);

  uint64_t capacity() const { return capacity_; }  // In rows.
  uint64_t bytes() const { return capacity_ * store_->row_bytes(); }

  // Copies the rows of `nodes`, whose hot ranks are `ranks` (or none, if there
  // is no cache), to out [nodes.size(), F] as f32: those that are cached from
  // here, the others from the store. Returns how many were cached.
  // InvalidArgument: a global id is not below N, or there are fewer or more
  // ranks than nodes. Else the store's errors.
  absl::StatusOr<uint64_t> Extract(absl::Span<const GlobalId> nodes,
                                   absl::Span<const uint32_t> ranks, float* out,
                                   ThreadTeam& team) const;

  // Finds rows instead of copying them: rows [nodes.size()] point to where each
  // of them lies, as the store has them, here or in the store; valid as long as
  // both. The store lies in memory (FeatureStore::data()). Otherwise as
  // Extract().
  absl::StatusOr<uint64_t> Find(absl::Span<const GlobalId> nodes,
                                absl::Span<const uint32_t> ranks,
                                const std::byte** rows) const;

 private:
  // Of a store that lies in memory: one pass over cached and other rows.
  absl::StatusOr<uint64_t> ExtractFromMemory(absl::Span<const GlobalId> nodes,
                                             absl::Span<const uint32_t> ranks,
                                             float* out,
                                             ThreadTeam& team) const;
  // Those that are cached, to their rows of out; returns how many.
  uint64_t CopyHits(absl::Span<const uint32_t> ranks, float* out) const;
  // Where each of them is, and how many are cached. Without branches: which
  // rows are cached cannot be foretold.
  uint64_t FindRows(absl::Span<const GlobalId> nodes,
                    absl::Span<const uint32_t> ranks,
                    const std::byte** rows) const;

  const FeatureStore* store_;
  uint64_t capacity_ = 0;
  TableMemory<std::byte> rows_;  // [capacity_, row_bytes]
};

}  // namespace fgnn

#endif  // FGNN_TRAINER_SERVICE_FEATURES_CPU_FEATURE_CACHE_H_
