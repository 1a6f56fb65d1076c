#include "trainer_service/nn/cpu/layers/gcn_layer.h"

#include <algorithm>
#include <cstdint>

#include "shared/base/status.h"
#include "trainer_service/nn/cpu/kernels/dropout.h"

namespace fgnn {
namespace {

class GcnInference final : public LayerInference {
 public:
  GcnInference(const NeighborLinearOptions& options, bool last,
               absl::Span<const float> weights)
      : last_(last), out_(options.out), linear_(options, weights) {}

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

template <typename Number>
absl::StatusOr<LayerOutput<Number>> GcnLayer<Number>::Forward(
    absl::Span<const float> weights, const BlockView& block,
    const LayerInput<Number>& x, const Dropout& dropout) {
  FGNN_RETURN_IF_ERROR(linear_.Start(weights, block, x));
  const int64_t num_destinations = block.num_destinations;
  const LayerOutput<Number> output = output_.Reserve(num_destinations);
  FGNN_RETURN_IF_ERROR(team_->Run(
      NumRowTasks<Number>(num_destinations), [&](int64_t task, int worker) {
        const int64_t first = task * kRowsPerTask<Number>;
        const int64_t last =
            std::min(first + kRowsPerTask<Number>, num_destinations);
        float* const z = output_.Floats(first, last, worker);
        linear_.ForwardRows(block, first, last, worker, z);
        output_.Finish(dropout, first, last, z);
      }));
  return output;
}

template <typename Number>
std::unique_ptr<const LayerInference> GcnLayer<Number>::Inference(
    absl::Span<const float> weights) const {
  return std::make_unique<GcnInference>(linear_.options(), last_, weights);
}

template class GcnLayer<float>;
template class GcnLayer<Bfloat16>;

}  // namespace fgnn
