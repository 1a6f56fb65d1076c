// An InferenceDevice of the host: the model's own layers, with memory for a
// number of sources.
#ifndef FGNN_TESTS_UNIT_TRAINER_SERVICE_INFER_HOST_DEVICE_H_
#define FGNN_TESTS_UNIT_TRAINER_SERVICE_INFER_HOST_DEVICE_H_

#include <algorithm>
#include <cstdint>
#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "shared/base/status.h"
#include "trainer_service/compute/aligned_buffer.h"
#include "trainer_service/features/feature_store.h"
#include "trainer_service/infer/inference_device.h"
#include "trainer_service/nn/model.h"

namespace fgnn {

class HostDevice final : public InferenceDevice {
 public:
  // Its workspace has room for `room` sources at first.
  HostDevice(const Model* model, uint64_t room) : model_(*model), most_(room) {}

  absl::Status Begin(absl::Span<const float> weights) override {
    weights_ = weights;
    room_ = most_;
    ++num_open;
    return begins_with;
  }
  void End() override { --num_open; }
  bool HasRoomForMessages(uint32_t, uint64_t rows) const override {
    return rows <= room_;
  }
  bool HasRoom(uint32_t, const BlockSize& most) const override {
    return most.sources <= room_;
  }
  bool TakeLess() override {
    room_ /= 2;
    return room_ > 0;
  }
  absl::Status Messages(uint32_t layer, uint64_t rows, const Rows& inputs,
                        Sink messages) override {
    FGNN_RETURN_IF_ERROR(Take(rows));
    FGNN_ASSIGN_OR_RETURN(
        const float* const x,
        Read(inputs, rows, model_.options().input_width(layer), inputs_));
    const uint64_t width = model_.message_width(layer);
    float* const made = outputs_.Floats(rows * width);
    model_.Inference(layer, weights_)
        ->Messages(x, static_cast<int64_t>(rows), made);
    return Write(messages, rows, width, made);
  }
  absl::Status Update(uint32_t layer, const InferenceBlock& block,
                      const Rows& messages, const Rows& inputs,
                      Sink outputs) override {
    FGNN_RETURN_IF_ERROR(Take(block.num_sources));
    const uint64_t rows = block.num_destinations();
    FGNN_ASSIGN_OR_RETURN(const float* const sent,
                          Read(messages, block.num_sources,
                               model_.message_width(layer), messages_));
    FGNN_ASSIGN_OR_RETURN(
        const float* const x,
        Read(inputs, rows, model_.options().input_width(layer), inputs_));
    const auto inference = model_.Inference(layer, weights_);
    float* const sums =
        aggregates_.Floats(rows * model_.aggregate_width(layer));
    const bool has_degrees = !block.degree_scales.empty();
    inference->Aggregate({block.indptr.data(), block.indices.data(), nullptr,
                          has_degrees ? block.degree_scales.data() : nullptr},
                         0, static_cast<int64_t>(rows), sent, sums);
    const uint64_t width = model_.options().output_width(layer);
    float* const made = outputs_.Floats(rows * width);
    inference->Update(x, sums, static_cast<int64_t>(rows), made);
    return Write(outputs, rows, width, made);
  }
  uint64_t HostBytes(uint64_t, uint64_t) const override { return 1000; }

  absl::Status begins_with;      // Result of Begin().
  absl::Status fails_with;       // Result of chunks.
  uint64_t memory = UINT64_MAX;  // Sources for which there is memory.
  int num_open = 0;              // Begun and not ended.
  // Where it reads features itself; null: it does not.
  const FeatureStore* features = nullptr;
  uint64_t num_features = 0;  // Rows read there.
  uint64_t num_chunks = 0;    // With a result.
  uint64_t largest = 0;       // Sources of a chunk.

 private:
  absl::Status Take(uint64_t sources) {
    FGNN_RETURN_IF_ERROR(fails_with);
    if (sources > memory) return absl::ResourceExhaustedError("no memory");
    ++num_chunks;
    largest = std::max(largest, sources);
    return absl::OkStatus();
  }
  // In two parts, as a device does with buffers.
  absl::StatusOr<const float*> Read(const Rows& of, uint64_t rows,
                                    uint64_t columns, AlignedBuffer& buffer) {
    float* const out = buffer.Floats(rows * columns);
    if (features != nullptr && !of.features_of.empty()) {
      if (of.features_of.size() != rows || features->num_columns() != columns) {
        return absl::InternalError("other features");
      }
      num_features += rows;
      FGNN_RETURN_IF_ERROR(features->CopyRows(of.features_of, out));
      return out;
    }
    const Source source = of.copy;
    const uint64_t half = rows / 2;
    if (half > 0) FGNN_RETURN_IF_ERROR(source(0, half, out));
    FGNN_RETURN_IF_ERROR(source(half, rows - half, out + half * columns));
    return out;
  }
  static absl::Status Write(Sink sink, uint64_t rows, uint64_t columns,
                            const float* values) {
    const uint64_t half = rows / 2;
    if (half > 0) FGNN_RETURN_IF_ERROR(sink(0, half, values));
    return sink(half, rows - half, values + half * columns);
  }

  const Model& model_;
  const uint64_t most_;
  uint64_t room_ = 0;
  absl::Span<const float> weights_;
  AlignedBuffer messages_;
  AlignedBuffer inputs_;
  AlignedBuffer aggregates_;
  AlignedBuffer outputs_;
};

}  // namespace fgnn

#endif  // FGNN_TESTS_UNIT_TRAINER_SERVICE_INFER_HOST_DEVICE_H_
