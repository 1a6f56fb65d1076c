// Models on a CUDA device: (weights, batch) -> gradient, as Model::Gradient().
#ifndef FGNN_TRAINER_SERVICE_NN_CUDA_CUDA_MODEL_H_
#define FGNN_TRAINER_SERVICE_NN_CUDA_CUDA_MODEL_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "shared/device/cuda/stream.h"
#include "shared/minibatch/task.h"
#include "trainer_service/nn/check_batch.h"
#include "trainer_service/nn/cuda/batch_memory.h"
#include "trainer_service/nn/cuda/cuda_loss.h"
#include "trainer_service/nn/cuda/device_parameters.h"
#include "trainer_service/nn/cuda/device_task.h"
#include "trainer_service/nn/cuda/layers/cuda_hidden_stage.h"
#include "trainer_service/nn/cuda/layers/cuda_layer.h"
#include "trainer_service/nn/cuda/products.h"
#include "trainer_service/nn/cuda/row_exchange.h"
#include "trainer_service/nn/dropout_rule.h"
#include "trainer_service/nn/model.h"
#include "trainer_service/nn/product_order.h"
#include "trainer_service/nn/row_shuffle.h"

namespace fgnn {

// A batch for CudaModel. Borrowed.
struct CudaBatch {
  // Uploaded and marked as ready. Its rows are of RowTypeOf(), and it has
  // scales if the model divides_by_degrees().
  const DeviceTask* task = nullptr;
  SeedAnswersView answers;  // On the host.
  DropoutPlace place;
  // The exchange of rows with the batch's other parts; null for a whole batch.
  RowShuffle* shuffle = nullptr;
  // Whether other parts send the remote rows of the task's x, which has all
  // rows then.
  bool shares_inputs = false;
};

// Computes on the current device, on a stream of its own. One call at a time.
// Memory grows with the largest batch so far.
class CudaModel {
 public:
  // Borrows `products`, which no one else uses at the same time. `order` is for
  // tests. InvalidArgument: see ValidateOptions(). Unimplemented: only CPU
  // devices have such a model; the message names the field and the way out.
  static absl::StatusOr<std::unique_ptr<CudaModel>> Make(
      const ModelOptions& options, DenseProducts* products,
      ProductOrder order = ProductOrder::kCheapest);

  // Returns the type of a task's rows for a model of these options. Input
  // dropout takes f32, and rounds what it keeps.
  static FeatureType RowTypeOf(const ModelOptions& options);

  // Returns how many of the task's first rows have to lie one after the other
  // in x. The first layer sums the others where they lie, so that x need not
  // have those of a hot table, whose rows are of type `stored`. nullopt: x has
  // to have all rows. Any thread.
  std::optional<uint32_t> DenseRows(const TaskView& task,
                                    FeatureType stored) const;

  const ModelOptions& options() const { return options_; }
  uint64_t num_parameters() const { return num_parameters_; }  // P

  // Writes the gradient [P] of the mean loss; zeros for a batch without seeds,
  // whose loss is 0. Of a part of a batch: see Model::Gradient(). Weights are
  // copied to the device once a version. The host waits once, and once for each
  // exchange of a part's rows, beside the waits for other parts. When this
  // returns, the device works no more on the batch. The same arguments give the
  // same bits, on one kind of device. `on_device`: an array [P] of device
  // memory for the gradient of a batch with seeds; may be null.
  // InvalidArgument: the batch does not fit the model. ResourceExhausted: no
  // device memory. Internal: the device failed. Otherwise returns the errors of
  // the shuffle.
  absl::StatusOr<BatchResult> Gradient(const VersionedWeights& weights,
                                       const CudaBatch& batch,
                                       absl::Span<float> gradient,
                                       float* on_device = nullptr);

  // Bytes that are held, the products' workspace left out.
  uint64_t device_bytes() const;
  uint64_t pinned_bytes() const;

 private:
  CudaModel(const ModelOptions& options, DenseProducts* products,
            ProductOrder order, CudaStream stream, CudaEvent done,
            CudaRowExchange exchange);

  bool LacksRows(const CudaBatch& batch) const;
  absl::Status CheckFits(const VersionedWeights& weights,
                         const CudaBatch& batch,
                         absl::Span<float> gradient) const;
  // Queues all work of a gradient, up to its way back to the host.
  absl::Status Queue(const VersionedWeights& weights, const CudaBatch& batch,
                     float* on_device);
  absl::Status QueueForward(const BatchRun& run, const CudaBatch& batch);
  // dh (numbers) is the gradient of the last layer's output.
  absl::Status QueueBackward(const BatchRun& run, const CudaBatch& batch,
                             void* dh);
  absl::StatusOr<const void*> DropFeatures(const BatchRun& run,
                                           const CudaBatch& batch);
  // Returns the hop whose sources a layer's inputs are.
  uint32_t HopOf(uint32_t layer) const { return options_.layers - 1 - layer; }
  const DeviceBlock& BlockOf(uint32_t layer, const CudaBatch& batch) const;
  // Returns the inputs of a layer for the exchange of rows.
  ExchangedHop InputsOf(uint32_t layer, const CudaBatch& batch) const;

  const ModelOptions options_;
  DenseProducts* const products_;
  uint64_t num_parameters_ = 0;
  DeviceParameters parameters_;
  BatchMemory memory_;
  CudaLoss loss_;
  std::vector<std::unique_ptr<CudaLayer>> layers_;
  // Stages behind the layers; null where there is none.
  std::vector<std::unique_ptr<CudaHiddenStage>> stages_;
  // The layers' inputs of this batch (numbers), and the last layer's logits.
  std::vector<const void*> inputs_;
  float* logits_ = nullptr;
  CudaStream stream_;
  CudaEvent done_;
  CudaRowExchange exchange_;
};

}  // namespace fgnn

#endif  // FGNN_TRAINER_SERVICE_NN_CUDA_CUDA_MODEL_H_
