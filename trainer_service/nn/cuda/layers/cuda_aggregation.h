// Aggregates the messages of a vertex's neighbours on a CUDA device, forwards
// and backwards: the law is that of nn/cpu/messages/neighbor_aggregation.h. A
// block has S sources and D destinations.
#ifndef FGNN_TRAINER_SERVICE_NN_CUDA_LAYERS_CUDA_AGGREGATION_H_
#define FGNN_TRAINER_SERVICE_NN_CUDA_LAYERS_CUDA_AGGREGATION_H_

#include <cstdint>
#include <memory>

#include "absl/status/statusor.h"
#include "trainer_service/nn/cuda/batch_run.h"
#include "trainer_service/nn/cuda/device_task.h"
#include "trainer_service/nn/layer_options.h"

namespace fgnn {

// Keeps what its backward pass needs, until the batch ends. Functions queue
// work on the run's stream and return the errors of BatchRun. Not thread-safe.
class CudaAggregation {
 public:
  virtual ~CudaAggregation() = default;

  // Returns the aggregates [D, columns] (numbers) of messages [S, columns]
  // (numbers).
  virtual absl::StatusOr<void*> Forward(const BatchRun& run,
                                        const DeviceBlock& block,
                                        const void* messages) = 0;
  // Returns the gradient of the messages [S, columns], from that of the
  // aggregates [D, columns] (numbers). Run and block are those of the last
  // Forward().
  virtual absl::StatusOr<float*> Backward(const BatchRun& run,
                                          const DeviceBlock& block,
                                          const void* gradient) = 0;
  // Returns the aggregates of whole neighbourhoods, whose edges have no
  // weights, on a run of f32. No Backward() follows.
  virtual absl::StatusOr<float*> Infer(const BatchRun& run,
                                       const DeviceBlock& block,
                                       const float* messages) = 0;
};

std::unique_ptr<CudaAggregation> MakeCudaAggregation(Aggregator aggregator,
                                                     uint64_t columns);

}  // namespace fgnn

#endif  // FGNN_TRAINER_SERVICE_NN_CUDA_LAYERS_CUDA_AGGREGATION_H_
