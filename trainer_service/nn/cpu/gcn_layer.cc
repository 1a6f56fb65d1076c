#include "trainer_service/nn/cpu/gcn_layer.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "shared/base/status.h"
#include "trainer_service/nn/cpu/dropout.h"

namespace fgnn {
namespace {

class GcnInference final : public LayerInference {
 public:
  GcnInference(const NeighborLinear& linear, bool last,
               absl::Span<const float> weights)
      : last_(last),
        out_(linear.options().out),
        linear_(linear.options(), linear.SendsProducts(), weights) {}

  void Messages(const float* x, int64_t rows, float* messages) const override {
    linear_.Messages(x, rows, messages);
  }
  void Aggregate(const RowLists& lists, int64_t first, int64_t last,
                 const float* messages, float* out) const override {
    linear_.Aggregate(lists, first, last, messages, out);
  }
  bool UpdateReadsInputs() const override { return false; }
  void Update(const float*, const float* means, int64_t rows,
              float* z) const override {
    linear_.Update(means, rows, z);
    if (!last_) ApplyReluAndDropout(Dropout(), 0, rows * out_, z);
  }

 private:
  const bool last_;
  const int64_t out_;
  const NeighborLinearInference linear_;
};

}  // namespace

absl::StatusOr<LayerOutput<float>> GcnLayer::Forward(
    absl::Span<const float> weights, const BlockView& block,
    const LayerInput<float>& x, const Dropout& dropout) {
  FGNN_RETURN_IF_ERROR(linear_.Start(weights, block, x));
  const int64_t num_destinations = block.num_destinations;
  const int64_t out = linear_.options().out;
  float* const z =
      output_buffer_.Floats(static_cast<size_t>(num_destinations * out));
  FGNN_RETURN_IF_ERROR(
      team_->Run(NumRowTasks(num_destinations), [&](int64_t task, int) {
        const int64_t first = task * kRowsPerTask;
        const int64_t last = std::min(first + kRowsPerTask, num_destinations);
        linear_.ForwardRows(block, first, last, z + first * out);
        if (last_) return;
        ApplyReluAndDropout(dropout, first * out, (last - first) * out,
                            z + first * out);
      }));
  return LayerOutput<float>{z, z};
}

std::unique_ptr<const LayerInference> GcnLayer::Inference(
    absl::Span<const float> weights) const {
  return std::make_unique<GcnInference>(linear_, last_, weights);
}

}  // namespace fgnn
