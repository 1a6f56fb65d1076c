// Types for the words of FGNN. See docs/glossary.md.
#ifndef FGNN_SHARED_BASE_TYPES_H_
#define FGNN_SHARED_BASE_TYPES_H_

#include <cstdint>

#include "shared/base/strong_number.h"

namespace fgnn {

// A vertex of the dataset, in [0, num_nodes), num_nodes < 2^32.
using GlobalId = uint32_t;
inline constexpr uint64_t kMaxNodes = 0xFFFFFFFF;

// A place in the array of all edges of the dataset.
using EdgeOffset = int64_t;

// A batch's running number in its job: epoch * batches_per_epoch + batch.
using BatchSeq = StrongNumber<struct BatchSeqTag>;

// A daemon's index in a job's segment, in [1, kMaxOwners]; kNoOwner: no daemon.
// The type keeps it apart from indices of devices, blocks and executors.
enum class OwnerIndex : uint16_t {};
inline constexpr OwnerIndex kNoOwner{0};
inline constexpr uint16_t kMaxOwners = 255;

constexpr uint16_t PlainIndex(OwnerIndex owner) {
  return static_cast<uint16_t>(owner);
}
// Whether the index is in [1, kMaxOwners].
constexpr bool IsDaemon(OwnerIndex owner) {
  return owner != kNoOwner && PlainIndex(owner) <= kMaxOwners;
}

}  // namespace fgnn

#endif  // FGNN_SHARED_BASE_TYPES_H_
