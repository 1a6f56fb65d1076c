// Gradients of random batches by a CudaModel, whose tasks tests upload.
#ifndef FGNN_TESTS_UNIT_TRAINER_SERVICE_NN_CUDA_DEVICE_GRADIENT_H_
#define FGNN_TESTS_UNIT_TRAINER_SERVICE_NN_CUDA_DEVICE_GRADIENT_H_

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <vector>

#include "tests/fakes/status_matchers.h"
#include "tests/unit/trainer_service/nn/cuda/test_products.h"
#include "tests/unit/trainer_service/nn/random_batch.h"
#include "trainer_service/compute/widen.h"
#include "trainer_service/nn/cuda/cuda_model.h"

namespace fgnn {

// A model with products of its own, and a task. Not thread-safe.
class DeviceGradient {
 public:
  explicit DeviceGradient(const ModelOptions& options,
                          ProductOrder order = ProductOrder::kCheapest)
      : products_(NewTestProducts()),
        task_(options.input_columns, CudaModel::RowTypeOf(options)),
        stream_(*CudaStream::Make()) {
    auto model = CudaModel::Make(options, products_.get(), order);
    EXPECT_THAT(model, IsOk());
    if (model.ok()) model_ = *std::move(model);
  }

  CudaModel& model() { return *model_; }
  const DeviceTask& task() const { return task_; }

  // Uploads the batch and its features, and does not wait.
  void Upload(RandomBatch& random) { Upload(random.batch()); }
  void Upload(const TrainingBatch& batch) {
    const absl::Span<const EdgeOffset> indptr =
        model_->options().divides_by_degrees() ? batch.indptr
                                               : absl::Span<const EdgeOffset>();
    ASSERT_THAT(task_.Upload(*batch.task, stream_, indptr), IsOk());
    const DeviceTaskView& view = task_.view();
    const auto count = static_cast<uint64_t>(batch.features.size());
    rounded_.resize(count);
    RoundToBfloat16s(batch.features.data(), static_cast<int64_t>(count),
                     rounded_.data());
    const bool rounds = view.x_type == FeatureType::kBfloat16;
    if (count > 0) {
      ASSERT_EQ(
          cudaMemcpyAsync(view.x,
                          rounds ? static_cast<const void*>(rounded_.data())
                                 : batch.features.data(),
                          count * (rounds ? 2 : 4), cudaMemcpyHostToDevice,
                          stream_.get()),
          cudaSuccess);
    }
    ASSERT_THAT(task_.MarkReady(stream_), IsOk());
  }

  // Returns the gradient of the uploaded batch. `on_device`: see
  // CudaModel::Gradient().
  absl::StatusOr<Outcome> Compute(const std::vector<float>& weights,
                                  RandomBatch& random, uint64_t version = 1,
                                  float* on_device = nullptr) {
    return Compute(weights, random.batch(), version, on_device);
  }
  absl::StatusOr<Outcome> Compute(const std::vector<float>& weights,
                                  const TrainingBatch& batch,
                                  uint64_t version = 1,
                                  float* on_device = nullptr) {
    Outcome outcome;
    // Stale numbers must not show through.
    outcome.gradient.assign(weights.size(), 1e30F);
    FGNN_ASSIGN_OR_RETURN(
        outcome.result,
        model_->Gradient(
            {.version = version, .values = weights},
            {.task = &task_,
             .answers = {.labels = batch.labels, .targets = batch.targets},
             .place = {.seed = batch.seed,
                       .epoch = batch.epoch,
                       .batch = batch.batch,
                       .part = batch.task->part},
             .shuffle = batch.shuffle,
             .shares_inputs = batch.task->shares_inputs},
            absl::MakeSpan(outcome.gradient), on_device));
    return outcome;
  }

  // Both.
  Outcome Of(const std::vector<float>& weights, RandomBatch& random,
             uint64_t version = 1) {
    Upload(random);
    absl::StatusOr<Outcome> outcome = Compute(weights, random, version);
    EXPECT_THAT(outcome, IsOk());
    return outcome.ok() ? *outcome : Outcome();
  }

 private:
  const std::unique_ptr<DenseProducts> products_;
  std::unique_ptr<CudaModel> model_;
  DeviceTask task_;
  CudaStream stream_;
  std::vector<Bfloat16> rounded_;
};

}  // namespace fgnn

#endif  // FGNN_TESTS_UNIT_TRAINER_SERVICE_NN_CUDA_DEVICE_GRADIENT_H_
