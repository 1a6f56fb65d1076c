// The kernels of a batch, in their order.
#ifndef FGNN_SAMPLER_SERVICE_SAMPLING_CUDA_BATCH_LAUNCH_H_
#define FGNN_SAMPLER_SERVICE_SAMPLING_CUDA_BATCH_LAUNCH_H_

#include <cuda_runtime_api.h>

#include <cstdint>

#include "absl/status/status.h"
#include "sampler_service/id_map/cuda/map_list.h"
#include "sampler_service/sampling/cuda/batch_buffers.h"
#include "sampler_service/sampling/cuda/crcs/batch_crcs.h"
#include "sampler_service/sampling/cuda/device_hop.h"
#include "sampler_service/sampling/cuda/device_weights.h"
#include "sampler_service/sampling/cuda/drop_edges.h"
#include "sampler_service/sampling/cuda/stage_clock.h"
#include "sampler_service/sampling/sampler.h"
#include "shared/device/cuda/stream.h"
#include "shared/minibatch/batches_per_epoch.h"

namespace fgnn {

// What the batches of a sampler have in common. Borrowed.
struct BatchParts {
  const SamplerOptions& options;
  const DeviceCsc& graph;
  DeviceWeights weights;  // Only for kWeighted.
  const CudaStream& stream;
  uint32_t num_blocks;  // Blocks that fill the device.
  BatchBuffers& buffers;
  StageClock& clock;
};

// Launches kernels and does not wait. One object per batch. Errors: CUDA's.
class BatchLaunch {
 public:
  // The batch begins with num_seed_ids ids; the first 2 * num_positives are
  // ends of its training edges.
  BatchLaunch(const BatchParts& parts, const DeviceIdMap& map, BatchPlace place,
              uint32_t num_seed_ids, uint32_t num_positives)
      : parts_(parts),
        map_(map),
        place_(place),
        num_positives_(num_positives),
        max_nodes_(num_seed_ids),
        map_blocks_(BlocksFor(num_seed_ids)) {}

  // In this order: the seeds, each hop, the end, the checksums of `arrays`.
  // `ranks` may be null.
  absl::Status Seeds();
  absl::Status Hop(uint32_t h);
  absl::Status Finish(const uint32_t* ranks);
  absl::Status Checksums(const TaskArrays& arrays);

 private:
  uint32_t num_hops() const {
    return static_cast<uint32_t>(parts_.options.fanouts.size());
  }
  bool ExcludesSeedEdges() const {
    return parts_.options.negatives > 0 && parts_.options.exclude_seed_edges;
  }
  DeviceList* ListOf(uint32_t list) const {
    return &parts_.buffers.counts.get()->lists[list];
  }
  HopBuffers& buffers(uint32_t h) const { return parts_.buffers.OfHop(h); }
  // Returns the blocks of launches for at most `places` threads at work: a
  // launch of blocks without work costs as much as a small hop.
  uint32_t BlocksFor(uint64_t places) const;
  // Sets the blocks for hop h, from what the hops so far can have at most.
  void SetBlocks(uint32_t h);
  MapListArgs ListArgs(uint32_t list, uint32_t* ids) const;
  DeviceHop HopArgs(uint32_t h) const;
  DeviceSeedEdges SeedEdges() const;
  // Places the lists and draws by the law of the algorithm.
  cudaError_t Draw(const DeviceHop& hop) const;
  // Drops edges of a hop whose draws did not enter the map, and enters the
  // others.
  absl::Status DropAndEnter(const DeviceHop& hop, uint32_t h) const;

  const BatchParts& parts_;
  const DeviceIdMap map_;
  const BatchPlace place_;
  const uint32_t num_positives_;
  uint64_t max_nodes_;  // Vertices that the lists so far do not exceed.
  // Blocks of the launches for the current list: over its destinations, its
  // draws and its edges.
  uint32_t list_blocks_ = 1;
  uint32_t draw_blocks_ = 1;
  uint32_t map_blocks_;
};

}  // namespace fgnn

#endif  // FGNN_SAMPLER_SERVICE_SAMPLING_CUDA_BATCH_LAUNCH_H_
