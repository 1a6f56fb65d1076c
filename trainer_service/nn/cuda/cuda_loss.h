// The loss of a batch on a CUDA device, for every training.task.
#ifndef FGNN_TRAINER_SERVICE_NN_CUDA_CUDA_LOSS_H_
#define FGNN_TRAINER_SERVICE_NN_CUDA_CUDA_LOSS_H_

#include <cstddef>
#include <cstdint>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "shared/device/cuda/device_array.h"
#include "trainer_service/nn/check_batch.h"
#include "trainer_service/nn/cuda/batch_run.h"
#include "trainer_service/nn/cuda/device_task.h"
#include "trainer_service/nn/cuda/kernels/cross_entropy.h"
#include "trainer_service/nn/model.h"

namespace fgnn {

// The outputs of a model's last layer, [num_seeds, columns], and what they are
// held against. Borrowed.
struct LastOutputs {
  float* logits = nullptr;  // On the device. Overwritten.
  const DeviceTaskView* task = nullptr;
  SeedAnswersView answers;  // On the host. They fit the model.
};

// Not thread-safe. Queued copies use a pinned buffer of its own: the caller
// waits for them before the next call.
class CudaLoss {
 public:
  explicit CudaLoss(const ModelOptions& options) : options_(options) {}

  // Queues the loss of the seeds, of which a part of a batch may have none.
  // Sets the parameters' loss() to the sum of its terms. Returns the gradient
  // of the mean over all terms of the whole batch by the outputs: numbers.
  // Errors: see BatchRun.
  absl::StatusOr<void*> Queue(const BatchRun& run, const LastOutputs& outputs);

  // Returns the task's result of what loss() was set to.
  BatchResult ResultOf(const CrossEntropySum& sum,
                       const DeviceTaskView& task) const;

  uint64_t pinned_bytes() const { return staged_.bytes(); }

 private:
  template <typename T>
  absl::StatusOr<const T*> Upload(const BatchRun& run,
                                  absl::Span<const T> values);
  absl::Status OfClasses(const BatchRun& run, const LastOutputs& outputs);
  absl::Status OfTargets(const BatchRun& run, const LastOutputs& outputs);
  absl::StatusOr<float*> OfPairs(const BatchRun& run,
                                 const LastOutputs& outputs) const;
  // Returns the number of terms of the loss of so many examples.
  uint64_t NumTerms(uint64_t num_examples) const;

  const ModelOptions options_;
  PinnedArray<std::byte> staged_;
};

}  // namespace fgnn

#endif  // FGNN_TRAINER_SERVICE_NN_CUDA_CUDA_LOSS_H_
