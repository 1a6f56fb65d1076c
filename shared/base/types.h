// Types for the words of FGNN. See README.md, "Words".
#ifndef FGNN_SHARED_BASE_TYPES_H_
#define FGNN_SHARED_BASE_TYPES_H_

#include <cstdint>

namespace fgnn {

// A vertex of the dataset, in [0, num_nodes), num_nodes < 2^32.
using GlobalId = uint32_t;

// A vertex's place among the vertices of one mini-batch.
using LocalId = uint32_t;

// A place in the array of all edges of the dataset.
using EdgeOffset = int64_t;

// A batch's running number in its job: epoch * batches_per_epoch + batch.
using BatchSeq = uint64_t;

// A daemon's index in a job's segment, in [1, kMaxOwners]; 0: no daemon.
using OwnerIndex = uint16_t;
inline constexpr OwnerIndex kNoOwner = 0;
inline constexpr OwnerIndex kMaxOwners = 255;

}  // namespace fgnn

#endif  // FGNN_SHARED_BASE_TYPES_H_
