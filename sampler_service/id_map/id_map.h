// The id map of a batch: global ids to local ids, and back as input_nodes.
//
// Local ids are canonical: the first vertex that a batch shows gets 0, the next
// new one 1, and so on. The sampler shows the seeds first, then the sampled
// neighbours in their order, so every back end gives the same ids.
#ifndef FGNN_SAMPLER_SERVICE_ID_MAP_ID_MAP_H_
#define FGNN_SAMPLER_SERVICE_ID_MAP_ID_MAP_H_

#include <cstdint>

#include "absl/types/span.h"
#include "shared/base/types.h"

namespace fgnn {

// Thread-compatible: one per sampling thread. Does not allocate after its
// construction.
class IdMap {
 public:
  virtual ~IdMap() = default;

  // Forgets all vertices.
  virtual void StartBatch() = 0;

  // Replaces global ids by local ids in place; vertices that the batch has not
  // shown yet get the next ones. REQUIRES: every id is below the number of
  // vertices, and no more vertices than the map was made for.
  virtual void MapInPlace(absl::Span<uint32_t> ids) = 0;

  // The batch's vertices so far, by local id. Valid until StartBatch().
  virtual absl::Span<const GlobalId> nodes() const = 0;

  virtual uint64_t workspace_bytes() const = 0;
};

}  // namespace fgnn

#endif  // FGNN_SAMPLER_SERVICE_ID_MAP_ID_MAP_H_
