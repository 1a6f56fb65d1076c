// The lists of a block the other way round, for gradients of sums.
#ifndef FGNN_TRAINER_SERVICE_NN_CUDA_LAYERS_TRANSPOSED_LISTS_H_
#define FGNN_TRAINER_SERVICE_NN_CUDA_LAYERS_TRANSPOSED_LISTS_H_

#include "absl/status/statusor.h"
#include "trainer_service/nn/cuda/batch_run.h"
#include "trainer_service/nn/cuda/device_task.h"

namespace fgnn {

struct TransposedLists {
  DeviceLists lists;  // [S] The destinations of each source.
  // [entries] The block's entry that each entry of the lists is.
  const uint32_t* block_entries = nullptr;
  const float* inverse_degrees = nullptr;  // [D], see TransposeArgs.
};

// Queues the work. `counts_own`: see TransposeArgs. Errors: see BatchRun.
absl::StatusOr<TransposedLists> Transpose(const BatchRun& run,
                                          const DeviceBlock& block,
                                          bool counts_own);

}  // namespace fgnn

#endif  // FGNN_TRAINER_SERVICE_NN_CUDA_LAYERS_TRANSPOSED_LISTS_H_
