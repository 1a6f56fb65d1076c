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
        linear_(options.first_linear, /*relu=*/true, weights),
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
    Scratch<float> between;
    float* hidden = between.Reserve(kRowsAtOnce * out);
    for (int64_t first = 0; first < rows; first += kRowsAtOnce) {
      const int64_t count = std::min(kRowsAtOnce, rows - first);
      linear_.Update(nullptr, sums + first * sum_columns, count, hidden);
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
  const int64_t num_rows = block.num_destinations;
  const int64_t out = options_.first_linear.out;
  weight_.Pack(SecondWeight(options_, weights), /*backward=*/true);
  bias_.Assign(weights.subspan(options_.bias_offset, static_cast<size_t>(out)));
  const Number* const hidden = hidden_.Reserve(num_rows).rows;
  const LayerOutput<Number> output = output_.Reserve(num_rows, x.room);
  FGNN_RETURN_IF_ERROR(tasks_.Run(num_rows, [&](int64_t first, int64_t last,
                                                int worker) {
    float* const between = hidden_.Floats(first, last, worker);
    linear_.ForwardRows(block, first, last, worker, between);
    hidden_.Finish(linear_.bias(), Dropout(), first, last, between);
    float* const z = output_.Floats(first, last, worker);
    weight_.Forward(hidden + first * out, last - first, Into::kOverwrite, z);
    output_.Finish(bias_, dropout, first, last, z);
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
  const Number* const hidden = hidden_.rows();
  const SumsOverRows<Number> sums = {
      .a = {dz, num_rows, out},
      .rows = gradient.subspan(options_.bias_offset, static_cast<size_t>(out)),
      .products = {{hidden, out, gradient.data() + options_.weight_offset}}};
  FGNN_RETURN_IF_ERROR(row_sums_.Of(absl::MakeConstSpan(&sums, 1)));
  FGNN_RETURN_IF_ERROR(
      tasks_.Make(num_rows, out, hidden_gradient_.Reserve(num_rows * out),
                  [&](int64_t first, int64_t last, int, float* rows) {
                    weight_.Backward(dz + first * out, last - first,
                                     Into::kOverwrite, rows);
                    GradientOfReluAndDropout(1, hidden + first * out,
                                             (last - first) * out, rows);
                  }));
  return linear_.Backward(block, hidden_gradient_.data(), input_scale,
                          gradient);
}

template <typename Number>
std::unique_ptr<const LayerInference> GinLayer<Number>::Inference(
    absl::Span<const float> weights) const {
  return std::make_unique<GinInference>(options_, weights);
}

template class GinLayer<float>;
template class GinLayer<Bfloat16>;

}  // namespace fgnn
