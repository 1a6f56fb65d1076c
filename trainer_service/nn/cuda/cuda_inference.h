// The layers of a model on a CUDA device for inference over full
// neighbourhoods, chunk by chunk, on arrays in device memory.
#ifndef FGNN_TRAINER_SERVICE_NN_CUDA_CUDA_INFERENCE_H_
#define FGNN_TRAINER_SERVICE_NN_CUDA_CUDA_INFERENCE_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "shared/device/cuda/stream.h"
#include "trainer_service/nn/cuda/batch_memory.h"
#include "trainer_service/nn/cuda/device_parameters.h"
#include "trainer_service/nn/cuda/device_task.h"
#include "trainer_service/nn/cuda/layers/cuda_hidden_stage.h"
#include "trainer_service/nn/cuda/layers/cuda_layer.h"
#include "trainer_service/nn/cuda/products.h"
#include "trainer_service/nn/model.h"

namespace fgnn {

// The sizes of a block.
struct DeviceBlockSize {
  uint64_t destinations = 0;
  uint64_t sources = 0;
  uint64_t entries = 0;
};

// Computes in f32, whatever the model is trained in, on the current device and
// a stream of its own. Functions queue work and do not wait. One call at a
// time. Errors: ResourceExhausted, no device memory; Internal, the device
// failed.
class CudaInference {
 public:
  // Borrows `products`, which no one else uses between Begin() and End().
  // Errors: see CudaModel::Make().
  static absl::StatusOr<std::unique_ptr<CudaInference>> Make(
      const ModelOptions& options, DenseProducts* products);

  // Brings weights [P] to the device, which are borrowed until End().
  absl::Status Begin(absl::Span<const float> weights);
  // Waits for the stream, and frees all memory.
  void End();

  // Return whether messages are products, and whether Update() reads inputs.
  bool SendsProducts(uint32_t layer) const;
  bool ReadsInputs(uint32_t layer) const;
  uint64_t message_width(uint32_t layer) const;
  const ModelOptions& options() const { return options_; }

  // Returns the most bytes that weights take on the device and, as many, of
  // pinned memory.
  uint64_t WeightBytes() const;
  // Return the most bytes of device memory that a chunk takes, its rows and
  // lists included. They rise with every size.
  uint64_t BytesOf(uint32_t layer, const DeviceBlockSize& size) const;
  uint64_t BytesOfMessages(uint32_t layer, uint64_t rows) const;

  // Begins a chunk: the memory of the last one is taken back. Makes memory of
  // `bytes`, if there is less.
  absl::Status Start(uint64_t bytes);
  // Memory until the next Start(), without values.
  template <typename T>
  absl::StatusOr<T*> MakeArray(uint64_t count) {
    return memory_.Make<T>(count);
  }
  const CudaStream& stream() const { return stream_; }

  // Returns the messages [rows, message_width] of x [rows, input_width]. Only
  // for a layer that SendsProducts().
  absl::StatusOr<float*> Messages(uint32_t layer, const float* x,
                                  uint64_t rows);
  // Returns outputs [D, output_width]. D is at least 1. The block's
  // neighbor_scales are its rows.degree_scales.
  absl::StatusOr<float*> Update(uint32_t layer, const DeviceBlock& block,
                                const CudaInferenceRows& rows);

  // Bytes that are held.
  uint64_t device_bytes() const;
  uint64_t pinned_bytes() const;

 private:
  CudaInference(const ModelOptions& options, DenseProducts* products,
                CudaStream stream);
  BatchRun RunOf();

  const ModelOptions options_;
  DenseProducts* const products_;
  const std::vector<ParameterInfo> parameter_infos_;
  std::vector<std::unique_ptr<CudaLayer>> layers_;
  // Stages behind the layers; null where there is none.
  std::vector<std::unique_ptr<CudaHiddenStage>> stages_;
  std::optional<DeviceParameters> parameters_;
  absl::Span<const float> weights_;
  BatchMemory memory_;
  CudaStream stream_;
};

}  // namespace fgnn

#endif  // FGNN_TRAINER_SERVICE_NN_CUDA_CUDA_INFERENCE_H_
