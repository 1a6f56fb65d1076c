#include "trainer_service/nn/cpu/layers/pooled_layer.h"

#include <algorithm>
#include <cstddef>

#include "shared/base/status.h"
#include "trainer_service/nn/cpu/kernels/dropout.h"
#include "trainer_service/nn/cpu/kernels/row_kernels.h"
#include "trainer_service/nn/cpu/messages/unit_rows.h"

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

// Sets messages [rows, in] to relu(x weight + bias).
template <typename Number>
void MessagesOf(const PackedFactorOf<Number>& weight, const float* bias,
                const Number* x, int64_t rows, float* messages) {
  const int64_t in = weight.columns();
  weight.Multiply({x, rows, in}, Into::kOverwrite, messages);
  AddRow(bias, in, rows, messages);
  ApplyReluAndDropout(Dropout(), 0, rows * in, messages);
}

// Copies floats that were not computed in their place.
void CopyRows(const float* from, int64_t count, float* to) {
  std::copy_n(from, count, to);
}
void CopyRows(const float* from, int64_t count, Bfloat16* to) {
  RoundToBfloat16s(from, count, to);
}

class PooledInference final : public LayerInference {
 public:
  PooledInference(const PooledLayerOptions& options,
                  absl::Span<const float> weights)
      : options_(options),
        message_bias_(weights.data() + options.message_bias_offset),
        bias_(weights.data() + options.bias_offset) {
    message_.Pack(MessageWeight(options, weights).T());
    neighbor_.Pack(NeighborWeight(options, weights).T());
    self_.Pack(SelfWeight(options, weights).T());
  }

  void Messages(const float* x, int64_t rows, float* messages) const override {
    MessagesOf(message_, message_bias_, x, rows, messages);
  }
  void Aggregate(const RowLists& lists, int64_t first, int64_t last,
                 const float* messages, float* out) const override {
    AggregateLists(options_.aggregator, lists, first, last, messages,
                   options_.in, out);
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
  PackedFactor message_;
  PackedFactor neighbor_;
  PackedFactor self_;
};

}  // namespace

template <typename Number>
void PooledLayer<Number>::PackWeights(absl::Span<const float> weights) {
  const FactorOf<Number> message =
      AsNumbers<Number>(MessageWeight(options_, weights), weight_buffer_);
  message_forward_.Pack(message.T());
  if (!options_.first) message_backward_.Pack(message);
  const FactorOf<Number> neighbor =
      AsNumbers<Number>(NeighborWeight(options_, weights), weight_buffer_);
  neighbor_forward_.Pack(neighbor.T());
  neighbor_backward_.Pack(neighbor);
  const FactorOf<Number> self =
      AsNumbers<Number>(SelfWeight(options_, weights), weight_buffer_);
  self_forward_.Pack(self.T());
  if (!options_.first) self_backward_.Pack(self);
}

template <typename Number>
absl::StatusOr<LayerOutput<Number>> PooledLayer<Number>::Forward(
    absl::Span<const float> weights, const BlockView& block,
    const LayerInput<Number>& x, const Dropout& dropout) {
  const int64_t num_rows = block.num_destinations;
  x_.Start(x, block.num_sources);
  message_bias_ = weights.data() + options_.message_bias_offset;
  bias_ = weights.data() + options_.bias_offset;
  PackWeights(weights);
  aggregates_ =
      ReserveNumbers<Number>(aggregates_buffer_, num_rows * options_.in);
  const LayerOutput<Number> output = output_.Reserve(num_rows);
  if (scales_rows()) {
    unit_rows_ =
        ReserveNumbers<Number>(unit_rows_buffer_, num_rows * options_.out);
    inverse_lengths_ =
        inverse_lengths_buffer_.Floats(static_cast<size_t>(num_rows));
  }
  aggregation_->Start(block);
  FGNN_RETURN_IF_ERROR(MakeMessages(block));
  FGNN_RETURN_IF_ERROR(
      team_->Run(NumRowTasks<Number>(num_rows), [&](int64_t task, int worker) {
        const int64_t first = task * kRowsPerTask<Number>;
        ForwardRows(block, first,
                    std::min(first + kRowsPerTask<Number>, num_rows), dropout,
                    worker);
      }));
  return output;
}

template <typename Number>
absl::Status PooledLayer<Number>::MakeMessages(const BlockView& block) {
  const int64_t in = options_.in;
  const int64_t num_sources = block.num_sources;
  messages_ = ReserveNumbers<Number>(messages_buffer_, num_sources * in);
  return team_->Run(NumRowTasks<Number>(num_sources), [&](int64_t task,
                                                          int worker) {
    const int64_t first = task * kRowsPerTask<Number>;
    const int64_t last = std::min(first + kRowsPerTask<Number>, num_sources);
    const int64_t count = (last - first) * in;
    Number* const to = messages_ + first * in;
    float* const floats = floats_.Of(to, count, worker);
    x_.Copy(first, last, worker);
    MessagesOf(message_forward_, message_bias_, x_.From(first), last - first,
               floats);
    StoreRows(floats, count, to);
  });
}

template <typename Number>
void PooledLayer<Number>::ForwardRows(const BlockView& block, int64_t first,
                                      int64_t last, const Dropout& dropout,
                                      int worker) {
  const int64_t in = options_.in;
  const int64_t out = options_.out;
  const int64_t rows = last - first;
  Number* const kept = aggregates_ + first * in;
  float* const aggregates = floats_.Of(kept, rows * in, worker);
  aggregation_->ForwardRows(block, first, last, messages_, aggregates);
  StoreRows(aggregates, rows * in, kept);
  float* const z = output_.Floats(first, last, worker);
  RepeatRow(bias_, out, rows, z);
  neighbor_forward_.Multiply({kept, rows, in}, Into::kAdd, z);
  self_forward_.Multiply({x_.From(first), rows, in}, Into::kAdd, z);
  if (scales_rows()) {
    ApplyReluAndDropout(Dropout(), 0, rows * out, z);
    ScaleToUnitLength(rows, out, z, inverse_lengths_ + first);
    CopyRows(z, rows * out, unit_rows_ + first * out);
  }
  // The ReLU has no effect here, as scaled rows are not negative.
  output_.Finish(dropout, first, last, z);
}

template <typename Number>
absl::StatusOr<Number*> PooledLayer<Number>::Backward(
    const BlockView& block, const Number* dz, float input_scale,
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

// The incoming gradient is 0 where a row is, as if there were no scaling before
// dropout. Elements that are 0 by ReLU add nothing to the length, so the
// gradient is complete.
template <typename Number>
absl::StatusOr<const Number*> PooledLayer<Number>::GradientOfScaling(
    int64_t num_rows, const Number* dy) {
  const int64_t out = options_.out;
  auto* const dz =
      ReserveNumbers<Number>(unit_gradient_buffer_, num_rows * out);
  FGNN_RETURN_IF_ERROR(
      team_->Run(NumRowTasks<Number>(num_rows), [&](int64_t task, int worker) {
        const int64_t first = task * kRowsPerTask<Number>;
        const int64_t rows = std::min(kRowsPerTask<Number>, num_rows - first);
        const int64_t at = first * out;
        const Number* const unit = unit_rows_ + at;
        float* const floats = floats_.Of(dz + at, rows * out, worker);
        GradientOfUnitLength(unit, inverse_lengths_ + first, dy + at, rows, out,
                             floats);
        GradientOfReluAndDropout(1, unit, rows * out, floats);
        StoreRows(floats, rows * out, dz + at);
      }));
  return dz;
}

template <typename Number>
absl::Status PooledLayer<Number>::GradientOfMessages(const BlockView& block,
                                                     const Number* dz) {
  const int64_t in = options_.in;
  const int64_t out = options_.out;
  const int64_t num_destinations = block.num_destinations;
  const int64_t num_sources = block.num_sources;
  aggregates_gradient_ = ReserveNumbers<Number>(aggregates_gradient_buffer_,
                                                num_destinations * in);
  messages_gradient_ =
      ReserveNumbers<Number>(messages_gradient_buffer_, num_sources * in);
  FGNN_RETURN_IF_ERROR(team_->Run(
      NumRowTasks<Number>(num_destinations), [&](int64_t task, int worker) {
        const int64_t first = task * kRowsPerTask<Number>;
        const int64_t rows =
            std::min(kRowsPerTask<Number>, num_destinations - first);
        Number* const to = aggregates_gradient_ + first * in;
        float* const floats = floats_.Of(to, rows * in, worker);
        neighbor_backward_.Multiply({dz + first * out, rows, out},
                                    Into::kOverwrite, floats);
        StoreRows(floats, rows * in, to);
      }));
  aggregation_->StartBackward(block);
  return team_->Run(NumRowTasks<Number>(num_sources), [&](int64_t task,
                                                          int worker) {
    const int64_t first = task * kRowsPerTask<Number>;
    const int64_t last = std::min(first + kRowsPerTask<Number>, num_sources);
    const int64_t count = (last - first) * in;
    Number* const to = messages_gradient_ + first * in;
    float* const rows = floats_.Of(to, count, worker);
    aggregation_->BackwardRows(first, last, aggregates_gradient_, rows);
    GradientOfReluAndDropout(1, messages_ + first * in, count, rows);
    StoreRows(rows, count, to);
  });
}

template <typename Number>
absl::Status PooledLayer<Number>::GradientOfWeights(
    const BlockView& block, const Number* dz, absl::Span<float> gradient) {
  const int64_t in = options_.in;
  const int64_t out = options_.out;
  const int64_t num_destinations = block.num_destinations;
  const FactorOf<Number> dz_rows = {dz, num_destinations, out};
  const FactorOf<Number> message_rows = {messages_gradient_, block.num_sources,
                                         in};
  const auto place = [&](uint64_t offset, int64_t size) {
    return gradient.subspan(offset, static_cast<size_t>(size));
  };
  FGNN_RETURN_IF_ERROR(
      sums_.OfProducts(dz_rows, {aggregates_, num_destinations, in},
                       place(options_.neighbor_offset, out * in)));
  FGNN_RETURN_IF_ERROR(sums_.OfProducts(dz_rows,
                                        {x_.From(0), num_destinations, in},
                                        place(options_.self_offset, out * in)));
  FGNN_RETURN_IF_ERROR(sums_.OfRows(dz_rows, place(options_.bias_offset, out)));
  FGNN_RETURN_IF_ERROR(
      sums_.OfProducts(message_rows, {x_.From(0), block.num_sources, in},
                       place(options_.message_weight_offset, in * in)));
  return sums_.OfRows(message_rows, place(options_.message_bias_offset, in));
}

template <typename Number>
absl::Status PooledLayer<Number>::GradientOfInput(const BlockView& block,
                                                  const Number* dz,
                                                  float input_scale) {
  const int64_t in = options_.in;
  const int64_t out = options_.out;
  const int64_t num_destinations = block.num_destinations;
  const int64_t num_sources = block.num_sources;
  input_gradient_ =
      ReserveNumbers<Number>(input_gradient_buffer_, num_sources * in);
  return team_->Run(NumRowTasks<Number>(num_sources), [&](int64_t task,
                                                          int worker) {
    const int64_t first = task * kRowsPerTask<Number>;
    const int64_t rows = std::min(kRowsPerTask<Number>, num_sources - first);
    // Number of these rows that are destinations too.
    const int64_t own = std::clamp<int64_t>(num_destinations - first, 0, rows);
    Number* const to = input_gradient_ + first * in;
    float* const floats = floats_.Of(to, rows * in, worker);
    message_backward_.Multiply({messages_gradient_ + first * in, rows, in},
                               Into::kOverwrite, floats);
    if (own > 0) {
      self_backward_.Multiply({dz + first * out, own, out}, Into::kAdd, floats);
    }
    GradientOfReluAndDropout(input_scale, x_.From(first), rows * in, floats);
    StoreRows(floats, rows * in, to);
  });
}

template <typename Number>
std::unique_ptr<const LayerInference> PooledLayer<Number>::Inference(
    absl::Span<const float> weights) const {
  return std::make_unique<PooledInference>(options_, weights);
}

template class PooledLayer<float>;
template class PooledLayer<Bfloat16>;

}  // namespace fgnn
