// The id map of a batch: it turns global ids into local ids, and lists the
// global ids by local id (input_nodes).
//
// Local ids are canonical: the first vertex that a batch shows gets 0, the next
// new one 1, and so on. The sampler shows the seeds first, then the sampled
// neighbours in their order. Every back end therefore gives the same ids.
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

  // Replaces global ids by local ids in place. Vertices that the batch has not
  // shown yet get the next local ids. REQUIRES: every id is below the number of
  // vertices, and the batch has no more vertices than the map was made for.
  virtual void MapInPlace(absl::Span<uint32_t> ids) = 0;

  // Returns the batch's vertices so far, by local id. Valid until StartBatch().
  virtual absl::Span<const GlobalId> nodes() const = 0;

  virtual uint64_t workspace_bytes() const = 0;
};

}  // namespace fgnn

#endif  // FGNN_SAMPLER_SERVICE_ID_MAP_ID_MAP_H_
