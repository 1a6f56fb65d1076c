#include "trainer_service/nn/cpu/gin_layer.h"

#include <algorithm>
#include <cstddef>

#include "shared/base/status.h"
#include "trainer_service/nn/cpu/dropout.h"
#include "trainer_service/nn/cpu/row_kernels.h"

namespace fgnn {
namespace {

Factor SecondWeight(const GinLayerOptions& options,
                    absl::Span<const float> weights) {
  const int64_t out = options.first_linear.out;
  return {weights.data() + options.weight_offset, out, out};
}

class GinInference final : public LayerInference {
 public:
  GinInference(const GinLayerOptions& options, bool sends_products,
               absl::Span<const float> weights)
      : options_(options),
        linear_(options.first_linear, sends_products, weights),
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
    // Few rows at a time, so that what is between the two stays in the cache.
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

absl::StatusOr<LayerOutput<float>> GinLayer::Forward(
    absl::Span<const float> weights, const BlockView& block,
    const LayerInput<float>& x, const Dropout& dropout) {
  FGNN_RETURN_IF_ERROR(linear_.Start(weights, block, x));
  const Factor weight = SecondWeight(options_, weights);
  forward_.Pack(weight.T());
  backward_.Pack(weight);
  const float* const bias = weights.data() + options_.bias_offset;
  const int64_t num_rows = block.num_destinations;
  const int64_t out = options_.first_linear.out;
  hidden_ = hidden_buffer_.Floats(static_cast<size_t>(num_rows * out));
  float* const z = output_buffer_.Floats(static_cast<size_t>(num_rows * out));
  FGNN_RETURN_IF_ERROR(
      team_->Run(NumRowTasks(num_rows), [&](int64_t task, int) {
        const int64_t first = task * kRowsPerTask;
        const int64_t last = std::min(first + kRowsPerTask, num_rows);
        const int64_t size = (last - first) * out;
        float* const hidden = hidden_ + first * out;
        linear_.ForwardRows(block, first, last, hidden);
        ApplyReluAndDropout(Dropout(), 0, size, hidden);
        forward_.Multiply({hidden, last - first, out}, Into::kOverwrite,
                          z + first * out);
        AddRow(bias, out, last - first, z + first * out);
        if (options_.last) return;
        ApplyReluAndDropout(dropout, first * out, size, z + first * out);
      }));
  return LayerOutput<float>{z, z};
}

absl::StatusOr<float*> GinLayer::Backward(const BlockView& block,
                                          const float* dz, float input_scale,
                                          absl::Span<float> gradient) {
  const int64_t num_rows = block.num_destinations;
  const int64_t out = options_.first_linear.out;
  const Factor dz_rows = {dz, num_rows, out};
  FGNN_RETURN_IF_ERROR(
      sums_.OfProducts(dz_rows, {hidden_, num_rows, out},
                       gradient.subspan(options_.weight_offset,
                                        static_cast<size_t>(out * out))));
  FGNN_RETURN_IF_ERROR(sums_.OfRows(
      dz_rows,
      gradient.subspan(options_.bias_offset, static_cast<size_t>(out))));
  float* const hidden_gradient =
      hidden_gradient_buffer_.Floats(static_cast<size_t>(num_rows * out));
  FGNN_RETURN_IF_ERROR(
      team_->Run(NumRowTasks(num_rows), [&](int64_t task, int) {
        const int64_t first = task * kRowsPerTask;
        const int64_t rows = std::min(kRowsPerTask, num_rows - first);
        float* const to = hidden_gradient + first * out;
        backward_.Multiply({dz + first * out, rows, out}, Into::kOverwrite, to);
        GradientOfReluAndDropout(1, hidden_ + first * out, rows * out, to);
      }));
  return linear_.Backward(block, hidden_gradient, input_scale, gradient);
}

std::unique_ptr<const LayerInference> GinLayer::Inference(
    absl::Span<const float> weights) const {
  return std::make_unique<GinInference>(options_, SendsProducts(), weights);
}

}  // namespace fgnn
