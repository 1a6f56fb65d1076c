#include "trainer_service/nn/cpu/pooled_layer.h"

#include <algorithm>
#include <cstddef>

#include "shared/base/status.h"
#include "trainer_service/nn/cpu/dropout.h"
#include "trainer_service/nn/cpu/neighbor_linear.h"
#include "trainer_service/nn/cpu/row_kernels.h"
#include "trainer_service/nn/cpu/unit_rows.h"

namespace fgnn {
namespace {

Factor MessageWeight(const PooledLayerOptions& options,
                     absl::Span<const float> weights) {
  return {weights.data() + options.message_weight_offset, options.in,
          options.in};
}

Factor NeighborWeight(const PooledLayerOptions& options,
                      absl::Span<const float> weights) {
  return {weights.data() + options.neighbor_offset, options.out, options.in};
}

Factor SelfWeight(const PooledLayerOptions& options,
                  absl::Span<const float> weights) {
  return {weights.data() + options.self_offset, options.out, options.in};
}

// messages [rows, in] = relu(x weight + bias).
void MessagesOf(const PackedFactor& weight, const float* bias, const float* x,
                int64_t rows, float* messages) {
  const int64_t in = weight.columns();
  weight.Multiply({x, rows, in}, Into::kOverwrite, messages);
  AddRow(bias, in, rows, messages);
  ApplyReluAndDropout(Dropout(), 0, rows * in, messages);
}

class PooledInference final : public LayerInference {
 public:
  PooledInference(const PooledLayerOptions& options,
                  absl::Span<const float> weights)
      : options_(options),
        message_bias_(weights.data() + options.message_bias_offset),
        bias_(weights.data() + options.bias_offset),
        aggregation_(MakeNeighborAggregation(options.aggregator, options.in)) {
    message_.Pack(MessageWeight(options, weights).T());
    neighbor_.Pack(NeighborWeight(options, weights).T());
    self_.Pack(SelfWeight(options, weights).T());
  }

  void Messages(const float* x, int64_t rows, float* messages) const override {
    MessagesOf(message_, message_bias_, x, rows, messages);
  }
  void Aggregate(const RowLists& lists, int64_t first, int64_t last,
                 const float* messages, float* out) const override {
    aggregation_->OfLists(lists, first, last, messages, out);
  }
  bool UpdateReadsInputs() const override { return true; }
  void Update(const float* x, const float* aggregates, int64_t rows,
              float* z) const override {
    const int64_t in = options_.in;
    const int64_t out = options_.out;
    RepeatRow(bias_, out, rows, z);
    neighbor_.Multiply({aggregates, rows, in}, Into::kAdd, z);
    self_.Multiply({x, rows, in}, Into::kAdd, z);
    if (options_.last) return;
    ApplyReluAndDropout(Dropout(), 0, rows * out, z);
    if (!options_.unit_rows) return;
    AlignedBuffer inverse_lengths;
    ScaleToUnitLength(rows, out, z,
                      inverse_lengths.Floats(static_cast<size_t>(rows)));
  }

 private:
  const PooledLayerOptions options_;
  const float* const message_bias_;
  const float* const bias_;
  const std::unique_ptr<const NeighborAggregation> aggregation_;
  PackedFactor message_;
  PackedFactor neighbor_;
  PackedFactor self_;
};

}  // namespace

absl::StatusOr<LayerOutput<float>> PooledLayer::Forward(
    absl::Span<const float> weights, const BlockView& block,
    const LayerInput<float>& x, const Dropout& dropout) {
  x_ = x.dense;
  message_bias_ = weights.data() + options_.message_bias_offset;
  bias_ = weights.data() + options_.bias_offset;
  message_forward_.Pack(MessageWeight(options_, weights).T());
  neighbor_forward_.Pack(NeighborWeight(options_, weights).T());
  neighbor_backward_.Pack(NeighborWeight(options_, weights));
  self_forward_.Pack(SelfWeight(options_, weights).T());
  if (!options_.first) {
    message_backward_.Pack(MessageWeight(options_, weights));
    self_backward_.Pack(SelfWeight(options_, weights));
  }
  const size_t num_destinations = block.num_destinations;
  const size_t outputs = num_destinations * static_cast<size_t>(options_.out);
  aggregates_ = aggregates_buffer_.Floats(num_destinations *
                                          static_cast<size_t>(options_.in));
  output_ = output_buffer_.Floats(outputs);
  if (scales_rows()) {
    unit_rows_ = unit_rows_buffer_.Floats(outputs);
    inverse_lengths_ = inverse_lengths_buffer_.Floats(num_destinations);
  }
  aggregation_->Start(block);
  FGNN_RETURN_IF_ERROR(MakeMessages(block));
  const int64_t num_rows = block.num_destinations;
  FGNN_RETURN_IF_ERROR(
      team_->Run(NumRowTasks(num_rows), [&](int64_t task, int) {
        const int64_t first = task * kRowsPerTask;
        ForwardRows(block, first, std::min(first + kRowsPerTask, num_rows),
                    dropout);
      }));
  return LayerOutput<float>{output_, output_};
}

absl::Status PooledLayer::MakeMessages(const BlockView& block) {
  const int64_t in = options_.in;
  const int64_t num_sources = block.num_sources;
  messages_ = messages_buffer_.Floats(static_cast<size_t>(num_sources * in));
  return team_->Run(NumRowTasks(num_sources), [&](int64_t task, int) {
    const int64_t first = task * kRowsPerTask;
    MessagesOf(message_forward_, message_bias_, x_ + first * in,
               std::min(kRowsPerTask, num_sources - first),
               messages_ + first * in);
  });
}

void PooledLayer::ForwardRows(const BlockView& block, int64_t first,
                              int64_t last, const Dropout& dropout) {
  const int64_t in = options_.in;
  const int64_t out = options_.out;
  const int64_t rows = last - first;
  float* const aggregates = aggregates_ + first * in;
  float* const z = output_ + first * out;
  aggregation_->ForwardRows(block, first, last, messages_, aggregates);
  RepeatRow(bias_, out, rows, z);
  neighbor_forward_.Multiply({aggregates, rows, in}, Into::kAdd, z);
  self_forward_.Multiply({x_ + first * in, rows, in}, Into::kAdd, z);
  if (options_.last) return;
  if (!options_.unit_rows) {
    ApplyReluAndDropout(dropout, first * out, rows * out, z);
    return;
  }
  ApplyReluAndDropout(Dropout(), 0, rows * out, z);
  ScaleToUnitLength(rows, out, z, inverse_lengths_ + first);
  std::copy_n(z, rows * out, unit_rows_ + first * out);
  ApplyDropout(dropout, first * out, rows * out, z);
}

absl::StatusOr<float*> PooledLayer::Backward(const BlockView& block,
                                             const float* dz, float input_scale,
                                             absl::Span<float> gradient) {
  if (scales_rows()) {
    FGNN_ASSIGN_OR_RETURN(dz, GradientOfScaling(block.num_destinations, dz));
  }
  FGNN_RETURN_IF_ERROR(GradientOfMessages(block, dz));
  FGNN_RETURN_IF_ERROR(GradientOfWeights(block, dz, gradient));
  if (options_.first) return nullptr;
  FGNN_RETURN_IF_ERROR(GradientOfInput(block, dz, input_scale));
  return input_gradient_;
}

// What comes from above is 0 where a row is, as if there were no scaling before
// dropout. Elements that are 0 by ReLU add nothing to the length, so nothing of
// the gradient is missing.
absl::StatusOr<const float*> PooledLayer::GradientOfScaling(int64_t num_rows,
                                                            const float* dy) {
  const int64_t out = options_.out;
  float* const dz =
      unit_gradient_buffer_.Floats(static_cast<size_t>(num_rows * out));
  FGNN_RETURN_IF_ERROR(
      team_->Run(NumRowTasks(num_rows), [&](int64_t task, int) {
        const int64_t first = task * kRowsPerTask;
        const int64_t rows = std::min(kRowsPerTask, num_rows - first);
        const float* const unit = unit_rows_ + first * out;
        GradientOfUnitLength(unit, inverse_lengths_ + first, dy + first * out,
                             rows, out, dz + first * out);
        GradientOfReluAndDropout(1, unit, rows * out, dz + first * out);
      }));
  return dz;
}

absl::Status PooledLayer::GradientOfMessages(const BlockView& block,
                                             const float* dz) {
  const int64_t in = options_.in;
  const int64_t out = options_.out;
  const int64_t num_destinations = block.num_destinations;
  const int64_t num_sources = block.num_sources;
  aggregates_gradient_ = aggregates_gradient_buffer_.Floats(
      static_cast<size_t>(num_destinations * in));
  messages_gradient_ =
      messages_gradient_buffer_.Floats(static_cast<size_t>(num_sources * in));
  FGNN_RETURN_IF_ERROR(
      team_->Run(NumRowTasks(num_destinations), [&](int64_t task, int) {
        const int64_t first = task * kRowsPerTask;
        const int64_t rows = std::min(kRowsPerTask, num_destinations - first);
        neighbor_backward_.Multiply({dz + first * out, rows, out},
                                    Into::kOverwrite,
                                    aggregates_gradient_ + first * in);
      }));
  aggregation_->StartBackward(block);
  return team_->Run(NumRowTasks(num_sources), [&](int64_t task, int) {
    const int64_t first = task * kRowsPerTask;
    const int64_t last = std::min(first + kRowsPerTask, num_sources);
    float* const rows = messages_gradient_ + first * in;
    aggregation_->BackwardRows(first, last, aggregates_gradient_, rows);
    GradientOfReluAndDropout(1, messages_ + first * in, (last - first) * in,
                             rows);
  });
}

absl::Status PooledLayer::GradientOfWeights(const BlockView& block,
                                            const float* dz,
                                            absl::Span<float> gradient) {
  const int64_t in = options_.in;
  const int64_t out = options_.out;
  const int64_t num_destinations = block.num_destinations;
  const Factor dz_rows = {dz, num_destinations, out};
  const Factor message_rows = {messages_gradient_, block.num_sources, in};
  const auto place = [&](uint64_t offset, int64_t size) {
    return gradient.subspan(offset, static_cast<size_t>(size));
  };
  FGNN_RETURN_IF_ERROR(
      sums_.OfProducts(dz_rows, {aggregates_, num_destinations, in},
                       place(options_.neighbor_offset, out * in)));
  FGNN_RETURN_IF_ERROR(sums_.OfProducts(dz_rows, {x_, num_destinations, in},
                                        place(options_.self_offset, out * in)));
  FGNN_RETURN_IF_ERROR(sums_.OfRows(dz_rows, place(options_.bias_offset, out)));
  FGNN_RETURN_IF_ERROR(
      sums_.OfProducts(message_rows, {x_, block.num_sources, in},
                       place(options_.message_weight_offset, in * in)));
  return sums_.OfRows(message_rows, place(options_.message_bias_offset, in));
}

absl::Status PooledLayer::GradientOfInput(const BlockView& block,
                                          const float* dz, float input_scale) {
  const int64_t in = options_.in;
  const int64_t out = options_.out;
  const int64_t num_destinations = block.num_destinations;
  const int64_t num_sources = block.num_sources;
  input_gradient_ =
      input_gradient_buffer_.Floats(static_cast<size_t>(num_sources * in));
  return team_->Run(NumRowTasks(num_sources), [&](int64_t task, int) {
    const int64_t first = task * kRowsPerTask;
    const int64_t rows = std::min(kRowsPerTask, num_sources - first);
    // Of these rows, those that are destinations too.
    const int64_t own = std::clamp<int64_t>(num_destinations - first, 0, rows);
    float* const to = input_gradient_ + first * in;
    message_backward_.Multiply({messages_gradient_ + first * in, rows, in},
                               Into::kOverwrite, to);
    if (own > 0) {
      self_backward_.Multiply({dz + first * out, own, out}, Into::kAdd, to);
    }
    GradientOfReluAndDropout(input_scale, x_ + first * in, rows * in, to);
  });
}

std::unique_ptr<const LayerInference> PooledLayer::Inference(
    absl::Span<const float> weights) const {
  return std::make_unique<PooledInference>(options_, weights);
}

}  // namespace fgnn
