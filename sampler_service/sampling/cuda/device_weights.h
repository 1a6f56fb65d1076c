// Weights of a graph's edges that kernels read.
#ifndef FGNN_SAMPLER_SERVICE_SAMPLING_CUDA_DEVICE_WEIGHTS_H_
#define FGNN_SAMPLER_SERVICE_SAMPLING_CUDA_DEVICE_WEIGHTS_H_

#include "sampler_service/sampling/laws/weighted_law.h"

namespace fgnn {

// Alias tables, as in sampling/alias_tables.h, in the memory of the topology.
struct DeviceWeights {
  const AliasCell* cells;  // [num_edges]
  const float* weights;    // [num_edges]
  bool all_positive;       // Whether no weight is 0.
};

}  // namespace fgnn

#endif  // FGNN_SAMPLER_SERVICE_SAMPLING_CUDA_DEVICE_WEIGHTS_H_
