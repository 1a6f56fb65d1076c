#include "trainer_service/nn/cpu/layers/gin_layer.h"

#include <algorithm>
#include <cstddef>

#include "shared/base/status.h"
#include "trainer_service/nn/cpu/kernels/dropout.h"
#include "trainer_service/nn/cpu/kernels/row_kernels.h"

namespace fgnn {
namespace {

Factor SecondWeight(const GinLayerOptions& options,
                    absl::Span<const float> weights) {
  const int64_t out = options.first_linear.out;
  return {weights.data() + options.weight_offset, out, out};
}

class GinInference final : public LayerInference {
 public:
  GinInference(const GinLayerOptions& options, absl::Span<const float> weights)
      : options_(options),
        linear_(options.first_linear, weights),
        bias_(weights.data() + options.bias_offset) {
    weight_.Pack(SecondWeight(options, weights).T());
  }

  void Messages(const float* x, int64_t rows, float* messages) const override {
    linear_.Messages(x, rows, messages);
  }
  void Aggregate(const RowLists& lists, int64_t first, int64_t last,
                 const float* messages, float* out) const override {
    linear_.Aggregate(lists, first, last, messages, out);
  }
  bool UpdateReadsInputs() const override { return false; }
  void Update(const float*, const float* sums, int64_t rows,
              float* z) const override {
    // Rows at a time: few, so that the values between the two maps stay in the
    // cache.
    constexpr int64_t kRowsAtOnce = 64;
    const int64_t out = options_.first_linear.out;
    const int64_t sum_columns = linear_.message_columns();
    AlignedBuffer buffer;
    float* hidden = buffer.Floats(static_cast<size_t>(kRowsAtOnce * out));
    for (int64_t first = 0; first < rows; first += kRowsAtOnce) {
      const int64_t count = std::min(kRowsAtOnce, rows - first);
      linear_.Update(sums + first * sum_columns, count, hidden);
      ApplyReluAndDropout(Dropout(), 0, count * out, hidden);
      weight_.Multiply({hidden, count, out}, Into::kOverwrite, z + first * out);
    }
    AddRow(bias_, out, rows, z);
    if (!options_.last) ApplyReluAndDropout(Dropout(), 0, rows * out, z);
  }

 private:
  const GinLayerOptions options_;
  const NeighborLinearInference linear_;
  const float* const bias_;
  PackedFactor weight_;
};

}  // namespace

template <typename Number>
absl::StatusOr<LayerOutput<Number>> GinLayer<Number>::Forward(
    absl::Span<const float> weights, const BlockView& block,
    const LayerInput<Number>& x, const Dropout& dropout) {
  FGNN_RETURN_IF_ERROR(linear_.Start(weights, block, x));
  const FactorOf<Number> weight =
      AsNumbers<Number>(SecondWeight(options_, weights), weight_buffer_);
  forward_.Pack(weight.T());
  backward_.Pack(weight);
  const float* const bias = weights.data() + options_.bias_offset;
  const int64_t num_rows = block.num_destinations;
  const int64_t out = options_.first_linear.out;
  hidden_ = ReserveNumbers<Number>(hidden_buffer_, num_rows * out);
  const LayerOutput<Number> output = output_.Reserve(num_rows);
  FGNN_RETURN_IF_ERROR(
      team_->Run(NumRowTasks<Number>(num_rows), [&](int64_t task, int worker) {
        const int64_t first = task * kRowsPerTask<Number>;
        const int64_t last = std::min(first + kRowsPerTask<Number>, num_rows);
        const int64_t count = (last - first) * out;
        Number* const hidden = hidden_ + first * out;
        float* const between = floats_.Of(hidden, count, worker);
        linear_.ForwardRows(block, first, last, worker, between);
        ApplyReluAndDropout(Dropout(), 0, count, between);
        StoreRows(between, count, hidden);
        float* const z = output_.Floats(first, last, worker);
        forward_.Multiply({hidden, last - first, out}, Into::kOverwrite, z);
        AddRow(bias, out, last - first, z);
        output_.Finish(dropout, first, last, z);
      }));
  return output;
}

template <typename Number>
absl::StatusOr<Number*> GinLayer<Number>::Backward(const BlockView& block,
                                                   const Number* dz,
                                                   float input_scale,
                                                   absl::Span<float> gradient) {
  const int64_t num_rows = block.num_destinations;
  const int64_t out = options_.first_linear.out;
  const FactorOf<Number> dz_rows = {dz, num_rows, out};
  FGNN_RETURN_IF_ERROR(
      sums_.OfProducts(dz_rows, {hidden_, num_rows, out},
                       gradient.subspan(options_.weight_offset,
                                        static_cast<size_t>(out * out))));
  FGNN_RETURN_IF_ERROR(sums_.OfRows(
      dz_rows,
      gradient.subspan(options_.bias_offset, static_cast<size_t>(out))));
  auto* const hidden_gradient =
      ReserveNumbers<Number>(hidden_gradient_buffer_, num_rows * out);
  FGNN_RETURN_IF_ERROR(
      team_->Run(NumRowTasks<Number>(num_rows), [&](int64_t task, int worker) {
        const int64_t first = task * kRowsPerTask<Number>;
        const int64_t rows = std::min(kRowsPerTask<Number>, num_rows - first);
        const int64_t count = rows * out;
        Number* const to = hidden_gradient + first * out;
        float* const floats = floats_.Of(to, count, worker);
        backward_.Multiply({dz + first * out, rows, out}, Into::kOverwrite,
                           floats);
        GradientOfReluAndDropout(1, hidden_ + first * out, count, floats);
        StoreRows(floats, count, to);
      }));
  return linear_.Backward(block, hidden_gradient, input_scale, gradient);
}

template <typename Number>
std::unique_ptr<const LayerInference> GinLayer<Number>::Inference(
    absl::Span<const float> weights) const {
  return std::make_unique<GinInference>(options_, weights);
}

template class GinLayer<float>;
template class GinLayer<Bfloat16>;

}  // namespace fgnn
