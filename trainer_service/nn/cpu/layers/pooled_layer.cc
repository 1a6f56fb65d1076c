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
    const int64_t in = options_.in;
    message_.Multiply({x, rows, in}, Into::kOverwrite, messages);
    AddRow(message_bias_, in, rows, messages);
    ApplyReluAndDropout(Dropout(), 0, rows * in, messages);
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
    ScaleToUnitLength(rows, out, z, Scratch<float>().Reserve(rows));
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
void PooledLayer<Number>::StartWeights(absl::Span<const float> weights) {
  const bool backward = !options_.first;
  weights_.message.Pack(MessageWeight(options_, weights), backward);
  weights_.neighbor.Pack(NeighborWeight(options_, weights), /*backward=*/true);
  weights_.self.Pack(SelfWeight(options_, weights), backward);
  weights_.message_bias.Assign(weights.subspan(
      options_.message_bias_offset, static_cast<size_t>(options_.in)));
  weights_.bias = weights.data() + options_.bias_offset;
}

template <typename Number>
absl::StatusOr<LayerOutput<Number>> PooledLayer<Number>::Forward(
    absl::Span<const float> weights, const BlockView& block,
    const LayerInput<Number>& x, const Dropout& dropout) {
  const int64_t num_rows = block.num_destinations;
  x_.Start(x, block.num_sources);
  StartWeights(weights);
  aggregates_.Reserve(num_rows * options_.in);
  const LayerOutput<Number> output = output_.Reserve(num_rows, x.room);
  if (scales_rows()) {
    unit_rows_.Reserve(num_rows * options_.out);
    inverse_lengths_.Reserve(num_rows);
  }
  aggregation_->Start(block);
  FGNN_RETURN_IF_ERROR(MakeMessages(block));
  FGNN_RETURN_IF_ERROR(
      tasks_.Run(num_rows, [&](int64_t first, int64_t last, int worker) {
        ForwardRows(block, first, last, dropout, worker);
      }));
  return output;
}

template <typename Number>
absl::Status PooledLayer<Number>::MakeMessages(const BlockView& block) {
  messages_.Reserve(block.num_sources);
  return tasks_.Run(
      block.num_sources, [&](int64_t first, int64_t last, int worker) {
        float* const floats = messages_.Floats(first, last, worker);
        x_.Copy(first, last, worker);
        weights_.message.Forward(x_.From(first), last - first, Into::kOverwrite,
                                 floats);
        messages_.Finish(weights_.message_bias, Dropout(), first, last, floats);
      });
}

template <typename Number>
void PooledLayer<Number>::ForwardRows(const BlockView& block, int64_t first,
                                      int64_t last, const Dropout& dropout,
                                      int worker) {
  const int64_t in = options_.in;
  const int64_t out = options_.out;
  const int64_t rows = last - first;
  Number* const kept = aggregates_.data() + first * in;
  float* const aggregates = tasks_.Floats(kept, rows * in, worker);
  aggregation_->ForwardRows(block, first, last, messages_.rows(), aggregates);
  StoreRows(aggregates, rows * in, kept);
  float* const z = output_.Floats(first, last, worker);
  RepeatRow(weights_.bias, out, rows, z);
  weights_.neighbor.Forward(kept, rows, Into::kAdd, z);
  weights_.self.Forward(x_.From(first), rows, Into::kAdd, z);
  if (scales_rows()) {
    ApplyReluAndDropout(Dropout(), 0, rows * out, z);
    ScaleToUnitLength(rows, out, z, inverse_lengths_.data() + first);
    CopyRows(z, rows * out, unit_rows_.data() + first * out);
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
  return gradients_.input.data();
}

// The incoming gradient is 0 where a row is, as if there were no scaling before
// dropout. Elements that are 0 by ReLU add nothing to the length, so the
// gradient is complete.
template <typename Number>
absl::StatusOr<const Number*> PooledLayer<Number>::GradientOfScaling(
    int64_t num_rows, const Number* dy) {
  const int64_t out = options_.out;
  FGNN_RETURN_IF_ERROR(
      tasks_.Make(num_rows, out, gradients_.unit_rows.Reserve(num_rows * out),
                  [&](int64_t first, int64_t last, int, float* dz) {
                    const int64_t rows = last - first;
                    const Number* const unit = unit_rows_.data() + first * out;
                    GradientOfUnitLength(unit, inverse_lengths_.data() + first,
                                         dy + first * out, rows, out, dz);
                    GradientOfReluAndDropout(1, unit, rows * out, dz);
                  }));
  return gradients_.unit_rows.data();
}

template <typename Number>
absl::Status PooledLayer<Number>::GradientOfMessages(const BlockView& block,
                                                     const Number* dz) {
  const int64_t in = options_.in;
  const int64_t out = options_.out;
  const int64_t num_destinations = block.num_destinations;
  const int64_t num_sources = block.num_sources;
  FGNN_RETURN_IF_ERROR(
      tasks_.Make(num_destinations, in,
                  gradients_.aggregates.Reserve(num_destinations * in),
                  [&](int64_t first, int64_t last, int, float* rows) {
                    weights_.neighbor.Backward(dz + first * out, last - first,
                                               Into::kOverwrite, rows);
                  }));
  aggregation_->StartBackward(block);
  return tasks_.Make(
      num_sources, in, gradients_.messages.Reserve(num_sources * in),
      [&](int64_t first, int64_t last, int, float* rows) {
        aggregation_->BackwardRows(first, last, gradients_.aggregates.data(),
                                   rows);
        GradientOfReluAndDropout(1, messages_.rows() + first * in,
                                 (last - first) * in, rows);
      });
}

template <typename Number>
absl::Status PooledLayer<Number>::GradientOfWeights(
    const BlockView& block, const Number* dz, absl::Span<float> gradient) {
  const int64_t in = options_.in;
  const int64_t out = options_.out;
  float* const to = gradient.data();
  const auto bias = [&](uint64_t offset, int64_t size) {
    return gradient.subspan(offset, static_cast<size_t>(size));
  };
  const SumsOverRows<Number> sums[] = {
      {.a = {dz, block.num_destinations, out},
       .rows = bias(options_.bias_offset, out),
       .products = {{aggregates_.data(), in, to + options_.neighbor_offset},
                    {x_.From(0), in, to + options_.self_offset}}},
      {.a = {gradients_.messages.data(), block.num_sources, in},
       .rows = bias(options_.message_bias_offset, in),
       .products = {{x_.From(0), in, to + options_.message_weight_offset}}}};
  return row_sums_.Of(sums);
}

template <typename Number>
absl::Status PooledLayer<Number>::GradientOfInput(const BlockView& block,
                                                  const Number* dz,
                                                  float input_scale) {
  const int64_t in = options_.in;
  const int64_t out = options_.out;
  const int64_t num_destinations = block.num_destinations;
  const int64_t num_sources = block.num_sources;
  return tasks_.Make(
      num_sources, in, gradients_.input.Reserve(num_sources * in),
      [&](int64_t first, int64_t last, int, float* rows) {
        weights_.message.Backward(gradients_.messages.data() + first * in,
                                  last - first, Into::kOverwrite, rows);
        // Number of these rows that are destinations too.
        const int64_t own = std::min(last, num_destinations) - first;
        if (own > 0) {
          weights_.self.Backward(dz + first * out, own, Into::kAdd, rows);
        }
        GradientOfReluAndDropout(input_scale, x_.From(first),
                                 (last - first) * in, rows);
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
