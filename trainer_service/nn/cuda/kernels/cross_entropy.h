// Softmax cross-entropy and its gradient on a GPU: what nn/cpu/seed_losses.h
// computes.
#ifndef FGNN_TRAINER_SERVICE_NN_CUDA_KERNELS_CROSS_ENTROPY_H_
#define FGNN_TRAINER_SERVICE_NN_CUDA_KERNELS_CROSS_ENTROPY_H_

#include <cuda_runtime_api.h>

#include <cstdint>

namespace fgnn {

struct CrossEntropySum {
  double loss;  // Sum over the rows.
  uint64_t num_correct;
};

// Arrays lie in device memory.
struct CrossEntropyArgs {
  const int64_t* labels = nullptr;  // [rows], each in [0, num_classes).
  uint32_t rows = 0;
  uint32_t num_classes = 1;  // At least 1.
  float scale = 1;
  float smoothing = 0;
  float* logits = nullptr;             // [rows, num_classes]
  CrossEntropySum* of_rows = nullptr;  // [rows] Workspace.
  CrossEntropySum* sum = nullptr;      // [1]
};

// Replaces the logits by the gradient of the loss times `scale`; sets `sum`. A
// row's prediction is its first largest logit. `smoothing`: see the CPU. The
// bits depend on the arguments alone.
cudaError_t LaunchCrossEntropy(const CrossEntropyArgs& args,
                               cudaStream_t stream);

}  // namespace fgnn

#endif  // FGNN_TRAINER_SERVICE_NN_CUDA_KERNELS_CROSS_ENTROPY_H_
