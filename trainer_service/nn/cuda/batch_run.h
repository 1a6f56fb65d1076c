// What the layers of a model share while a batch's gradient is computed, and
// the operations that they are made of. Nothing here waits for the device.
//
// Rows and their gradients are stored as numbers of the model's precision:
// bf16, else f32. Products multiply them, rounded to TF32 if the model is in
// tf32. Sums and gradients of weights are f32.
#ifndef FGNN_TRAINER_SERVICE_NN_CUDA_BATCH_RUN_H_
#define FGNN_TRAINER_SERVICE_NN_CUDA_BATCH_RUN_H_

#include <cuda_runtime_api.h>

#include <cstdint>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "trainer_service/nn/cuda/batch_memory.h"
#include "trainer_service/nn/cuda/device_parameters.h"
#include "trainer_service/nn/cuda/kernels/neighbor_sums.h"
#include "trainer_service/nn/cuda/products.h"
#include "trainer_service/nn/dropout_rule.h"
#include "trainer_service/nn/model.h"

namespace fgnn {

// Returns the type in which rows are stored and multiplied.
inline FeatureType NumbersOf(Precision precision) {
  return precision == Precision::kBfloat16 ? FeatureType::kBfloat16
                                           : FeatureType::kFloat32;
}

// A matrix [out, in] among the parameters.
struct DeviceWeight {
  uint64_t offset = 0;
  uint64_t out = 0;
  uint64_t in = 0;
};

// Where a product goes.
struct ProductResult {
  void* to = nullptr;
  FeatureType type = FeatureType::kFloat32;
  bool adds = false;  // Only in f32.
};

// Lists of rows in device memory, as RowLists, with the long ones found.
struct DeviceLists {
  const uint32_t* indptr = nullptr;   // [num_lists + 1]
  const uint32_t* indices = nullptr;  // [entries]
  uint32_t num_lists = 0;
  uint32_t entries = 0;
  LongLists long_lists = {};
};

// The output of a layer, [D, out].
struct CudaLayerOutput {
  // Numbers after ReLU and dropout; null for a last layer, or one with a stage.
  void* rows = nullptr;
  float* logits = nullptr;  // Else the rows in f32, before these.

  // Returns one or the other, on a run of f32.
  float* Floats() const {
    return logits != nullptr ? logits : static_cast<float*>(rows);
  }
};

// Borrows all it is made of. Functions queue work on the stream, and return
// ResourceExhausted where the device has no memory, Internal where CUDA
// refuses. Sizes may be 0.
class BatchRun {
 public:
  BatchRun(DenseProducts* products, BatchMemory* memory,
           const DeviceParameters* parameters, absl::Span<const float> weights,
           Precision precision, cudaStream_t stream)
      : products_(products),
        memory_(memory),
        parameters_(parameters),
        weights_(weights),
        precision_(precision),
        type_(NumbersOf(precision)),
        stream_(stream) {}

  FeatureType type() const { return type_; }  // Returns the type of numbers.
  cudaStream_t stream() const { return stream_; }
  const DeviceParameters& parameters() const { return *parameters_; }
  // Returns the parameter's first weight, on the host.
  float HostWeight(uint64_t offset) const { return weights_[offset]; }

  // Memory until the end of the batch, without values.
  template <typename T>
  absl::StatusOr<T*> Make(uint64_t count) const {
    return memory_->Make<T>(count);
  }
  absl::StatusOr<void*> MakeNumbers(uint64_t count) const;

  // y [rows, out] = x W^T, of x [rows, in].
  absl::Status Forward(const DeviceWeight& weight, const void* x, uint64_t rows,
                       const ProductResult& y) const;
  // dx [rows, in] = dy W, of dy [rows, out].
  absl::Status Backward(const DeviceWeight& weight, const void* dy,
                        uint64_t rows, const ProductResult& dx) const;
  // Sets the gradient of W to dy^T x.
  absl::Status GradientOfWeight(const DeviceWeight& weight, const void* dy,
                                const void* x, uint64_t rows) const;
  // Sets the gradient of a bias [columns] to the sum of dy's rows.
  absl::Status GradientOfBias(uint64_t offset, const void* dy, uint64_t rows,
                              uint64_t columns) const;
  // The same of x's rows, scaled by scores [rows, heads] head by head: the
  // gradient of a vector of attention.
  absl::Status GradientOfVector(uint64_t offset, const void* x, uint64_t rows,
                                uint64_t columns, const float* scores,
                                uint32_t heads) const;
  // Sets the gradient of a number to the sum of the products of a's and b's
  // elements, [count] each.
  absl::Status GradientOfFactor(uint64_t offset, const void* a, const void* b,
                                uint64_t count) const;

  // Returns the lists of `indptr` with the long ones found.
  absl::StatusOr<DeviceLists> FindLongLists(const DeviceLists& lists) const;
  // Sums rows over lists: see NeighborSumsArgs, whose lists, long lists and
  // partials this sets.
  absl::Status SumLists(const DeviceLists& lists, NeighborSumsArgs args) const;

  // Ends a layer: adds the bias to z [rows, columns]. Not `plainly`: then ReLU
  // and dropout. z becomes the output, or is of no more use.
  absl::StatusOr<CudaLayerOutput> FinishOutput(float* z, uint64_t rows,
                                               uint64_t columns, uint64_t bias,
                                               bool plainly,
                                               const Dropout& dropout) const;
  // Returns dropout(relu(y)) [count] as numbers, which may lie in the place of
  // y.
  absl::StatusOr<void*> DropPositive(float* y, uint64_t count,
                                     const Dropout& dropout) const;
  // Sets out [rows, columns] to x (numbers), or adds x to it.
  absl::Status AddRows(const void* x, uint32_t rows, uint32_t columns,
                       bool adds, float* out) const;
  // Takes the gradient [count] of activations (numbers) back through the ReLU
  // and the dropout of `scale` that made them. Returns it as numbers; it may
  // lie in its old place.
  absl::StatusOr<void*> FinishGradient(float* gradient, const void* activations,
                                       uint64_t count, float scale) const;
  // Returns floats as numbers: themselves, or rounded.
  absl::StatusOr<void*> AsNumbers(float* floats, uint64_t count) const;

 private:
  // Multiplies numbers, in the model's precision.
  absl::Status Multiply(ProductArgs args) const;

  DenseProducts* const products_;
  BatchMemory* const memory_;
  const DeviceParameters* const parameters_;
  const absl::Span<const float> weights_;
  const Precision precision_;
  const FeatureType type_;
  const cudaStream_t stream_;
};

}  // namespace fgnn

#endif  // FGNN_TRAINER_SERVICE_NN_CUDA_BATCH_RUN_H_
