// The checksums of a task, computed where its arrays are made.
#ifndef FGNN_SAMPLER_SERVICE_SAMPLING_CUDA_BATCH_CRCS_H_
#define FGNN_SAMPLER_SERVICE_SAMPLING_CUDA_BATCH_CRCS_H_

#include <cuda_runtime_api.h>

#include <cstdint>

#include "sampler_service/id_map/cuda/device_id_map.h"
#include "sampler_service/sampling/cuda/batch_buffers.h"
#include "shared/minibatch/task.h"

namespace fgnn {

// Which arrays the tasks of a batch have.
struct TaskArrays {
  uint32_t num_hops = 1;
  bool has_pairs = false;
  bool has_weights = false;
  bool has_ranks = false;
};

// Starts the CRCs of a batch's arrays, which are whole by then; their sizes are
// read on the device. buffers.counts gets what JoinCrcs() reads. The launch has
// `most_blocks` blocks or as many as there is room for chunks.
cudaError_t LaunchBatchCrcs(const TaskArrays& arrays, BatchBuffers& buffers,
                            const DeviceIdMap& map, uint32_t most_blocks,
                            cudaStream_t stream);

// Returns the checksums of the task, from the counts of its batch.
TaskCrcs JoinCrcs(const TaskArrays& arrays, const BatchCounts& counts);

}  // namespace fgnn

#endif  // FGNN_SAMPLER_SERVICE_SAMPLING_CUDA_BATCH_CRCS_H_
