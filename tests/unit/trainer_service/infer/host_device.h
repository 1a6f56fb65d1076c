// An InferenceDevice of the host: the model's own layers, with memory for a
// number of sources.
#ifndef FGNN_TESTS_UNIT_TRAINER_SERVICE_INFER_HOST_DEVICE_H_
#define FGNN_TESTS_UNIT_TRAINER_SERVICE_INFER_HOST_DEVICE_H_

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "shared/base/status.h"
#include "trainer_service/compute/scratch.h"
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
  absl::StatusOr<bool> Keep(uint64_t num_nodes,
                            const KeptWidths& widths) override {
    if (!may_keep) return false;
    kept_[0].assign(num_nodes * widths.hidden, NAN);
    kept_[1].assign(num_nodes * widths.messages, NAN);
    return true;
  }
  absl::Status GiveBack(float* hidden, float* messages) override {
    ++num_given_back;
    if (hidden != nullptr) std::copy(kept_[0].begin(), kept_[0].end(), hidden);
    if (messages != nullptr) {
      std::copy(kept_[1].begin(), kept_[1].end(), messages);
    }
    kept_ = {};
    return absl::OkStatus();
  }
  bool HasRoomForMessages(uint32_t, uint64_t rows) const override {
    return rows <= room_;
  }
  bool HasRoom(uint32_t layer, const BlockSize& most) const override {
    const bool last = layer + 1 == model_.options().layers;
    return most.sources <= (last ? std::min(room_, room_of_last) : room_);
  }
  bool TakeLess() override {
    room_ /= 2;
    return room_ > 0;
  }
  absl::Status Messages(uint32_t layer, uint64_t rows, const Rows& inputs,
                        const Results& messages) override {
    FGNN_RETURN_IF_ERROR(Take(rows));
    FGNN_ASSIGN_OR_RETURN(
        const float* const x,
        Read(inputs, rows, model_.options().input_width(layer), inputs_));
    const uint64_t width = model_.message_width(layer);
    float* const made = outputs_.Reserve(rows * width);
    model_.Inference(layer, weights_)
        ->Messages(x, static_cast<int64_t>(rows), made);
    return Write(messages, rows, width, made);
  }
  absl::Status Update(uint32_t layer, const InferenceBlock& block,
                      const Rows& messages, const Rows& inputs,
                      const Results& outputs) override {
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
        aggregates_.Reserve(rows * model_.aggregate_width(layer));
    const bool has_degrees = !block.degree_scales.empty();
    inference->Aggregate({block.indptr.data(), block.indices.data(), nullptr,
                          has_degrees ? block.degree_scales.data() : nullptr},
                         0, static_cast<int64_t>(rows), sent, sums);
    const uint64_t width = model_.options().output_width(layer);
    float* const made = outputs_.Reserve(rows * width);
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
  uint64_t num_features = 0;           // Rows read there.
  uint64_t room_of_last = UINT64_MAX;  // The same, of the last layer's blocks.
  bool may_keep = true;                // Whether it has room for Keep().
  uint64_t num_kept = 0;               // Rows that were put into its arrays.
  uint64_t num_given_back = 0;
  uint64_t num_chunks = 0;  // With a result.
  uint64_t largest = 0;     // Sources of a chunk.

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
                                    uint64_t columns, Scratch<float>& buffer) {
    float* const out = buffer.Reserve(rows * columns);
    if (of.nodes.size() != rows) return absl::InternalError("other rows");
    if (features != nullptr && of.place == RowsPlace::kFeatures) {
      if (features->num_columns() != columns) {
        return absl::InternalError("other features");
      }
      num_features += rows;
      FGNN_RETURN_IF_ERROR(features->CopyRows(of.nodes, out));
      return out;
    }
    if (const std::vector<float>* const kept = KeptAt(of.place)) {
      for (uint64_t i = 0; i < rows; ++i) {
        std::copy_n(&kept->at(of.nodes[i] * columns), columns,
                    out + i * columns);
      }
      return out;
    }
    const Source source = of.copy;
    const uint64_t half = rows / 2;
    if (half > 0) FGNN_RETURN_IF_ERROR(source(0, half, out));
    FGNN_RETURN_IF_ERROR(source(half, rows - half, out + half * columns));
    return out;
  }
  absl::Status Write(const Results& results, uint64_t rows, uint64_t columns,
                     const float* values) {
    if (std::vector<float>* const kept = KeptAt(results.place)) {
      for (uint64_t i = 0; i < rows; ++i) {
        std::copy_n(values + i * columns, columns,
                    &kept->at(results.nodes[i] * columns));
      }
      num_kept += rows;
      return absl::OkStatus();
    }
    const uint64_t half = rows / 2;
    if (half > 0) FGNN_RETURN_IF_ERROR(results.take(0, half, values));
    return results.take(half, rows - half, values + half * columns);
  }
  // Null: the rows are none of its arrays'.
  std::vector<float>* KeptAt(RowsPlace place) {
    if (place == RowsPlace::kHidden) return &kept_[0];
    return place == RowsPlace::kMessages ? &kept_[1] : nullptr;
  }

  const Model& model_;
  const uint64_t most_;
  uint64_t room_ = 0;
  absl::Span<const float> weights_;
  std::array<std::vector<float>, 2> kept_;  // Hidden states, messages.
  Scratch<float> messages_;
  Scratch<float> inputs_;
  Scratch<float> aggregates_;
  Scratch<float> outputs_;
};

}  // namespace fgnn

#endif  // FGNN_TESTS_UNIT_TRAINER_SERVICE_INFER_HOST_DEVICE_H_
