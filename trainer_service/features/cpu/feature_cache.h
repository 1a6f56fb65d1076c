// The features of the hottest vertices, compact and in rank order, in front of
// a store (FGNN, section 6).
#ifndef FGNN_TRAINER_SERVICE_FEATURES_CPU_FEATURE_CACHE_H_
#define FGNN_TRAINER_SERVICE_FEATURES_CPU_FEATURE_CACHE_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "shared/base/types.h"
#include "trainer_service/compute/thread_team.h"
#include "trainer_service/features/feature_store.h"
#include "trainer_service/features/match/row_match.h"

namespace fgnn {

// Row r holds the features of the vertex of hot rank r, in the store's type. A
// vertex is cached if its rank is below capacity(), and its rank is its place.
// Immutable; safe to read from any thread.
class FeatureCache {
 public:
  // Makes a cache without rows: every vertex is a miss. Borrows the store.
  explicit FeatureCache(const FeatureStore* store) : store_(store) {}

  // Makes a cache of rows [capacity, row_bytes] that lie elsewhere, as rows of
  // a shared table do. Keeps them alive.
  FeatureCache(const FeatureStore* store, std::shared_ptr<const std::byte> rows,
               uint64_t capacity)
      : store_(store), capacity_(capacity), rows_(std::move(rows)) {}

  // Reads the rows of `hottest`, the first vertices of a rank order, from the
  // store. ResourceExhausted, with need: no memory. Other errors: the store's.
  static absl::StatusOr<FeatureCache> Load(const FeatureStore* store,
                                           absl::Span<const GlobalId> hottest,
                                           ThreadTeam& team);

  uint64_t capacity() const { return capacity_; }  // Number of rows.
  uint64_t bytes() const { return capacity_ * store_->row_bytes(); }

  // Copies the rows of `nodes` to out [nodes.size(), F] as f32. `ranks` has
  // their hot ranks, or none if there is no cache. Cached rows come from here,
  // those of the others that are `matched` from there, the rest from the store.
  // Returns how many were cached. InvalidArgument: a global id is not below N,
  // or the numbers of ranks and nodes differ. Other errors: the store's.
  absl::StatusOr<uint64_t> Extract(absl::Span<const GlobalId> nodes,
                                   absl::Span<const uint32_t> ranks, float* out,
                                   ThreadTeam& team,
                                   const MatchedRows& matched = {}) const;

  // Finds rows instead of copying them. rows [nodes.size()] point to the stored
  // rows, here or in the store; they are valid as long as both. The store must
  // lie in memory (FeatureStore::data()). Otherwise as Extract().
  absl::StatusOr<uint64_t> Find(absl::Span<const GlobalId> nodes,
                                absl::Span<const uint32_t> ranks,
                                const std::byte** rows) const;

 private:
  // Extract() for a store that lies in memory: one pass over cached and other
  // rows.
  absl::StatusOr<uint64_t> ExtractFromMemory(absl::Span<const GlobalId> nodes,
                                             absl::Span<const uint32_t> ranks,
                                             float* out,
                                             ThreadTeam& team) const;
  // Extract() with matched rows.
  absl::StatusOr<uint64_t> ExtractMatched(absl::Span<const GlobalId> nodes,
                                          absl::Span<const uint32_t> ranks,
                                          float* out, ThreadTeam& team,
                                          const MatchedRows& matched) const;
  // Copies the cached rows to their rows of out; returns how many there are.
  uint64_t CopyHits(absl::Span<const uint32_t> ranks, float* out) const;
  // Finds the rows; returns how many are cached. The loop has no branches, as
  // which rows are cached cannot be predicted.
  uint64_t FindRows(absl::Span<const GlobalId> nodes,
                    absl::Span<const uint32_t> ranks,
                    const std::byte** rows) const;

  const FeatureStore* store_;
  uint64_t capacity_ = 0;
  std::shared_ptr<const std::byte> rows_;  // [capacity_, row_bytes]
};

}  // namespace fgnn

#endif  // FGNN_TRAINER_SERVICE_FEATURES_CPU_FEATURE_CACHE_H_
