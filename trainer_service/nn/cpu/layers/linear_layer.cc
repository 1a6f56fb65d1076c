#include "trainer_service/nn/cpu/layers/linear_layer.h"

#include <cstdint>

#include "shared/base/status.h"

namespace fgnn {

template <typename Number>
absl::StatusOr<LayerOutput<Number>> LinearLayer<Number>::Forward(
    absl::Span<const float> weights, const BlockView& block,
    const LayerInput<Number>& x, const Dropout& dropout) {
  FGNN_RETURN_IF_ERROR(linear_.Start(weights, block, x));
  const LayerOutput<Number> output =
      output_.Reserve(block.num_destinations, x.room);
  FGNN_RETURN_IF_ERROR(tasks_.Run(
      block.num_destinations, [&](int64_t first, int64_t last, int worker) {
        float* const z = output_.Floats(first, last, worker);
        linear_.ForwardRows(block, first, last, worker, z);
        output_.Finish(linear_.bias(), dropout, first, last, z);
      }));
  return output;
}

template class LinearLayer<float>;
template class LinearLayer<Bfloat16>;

}  // namespace fgnn
