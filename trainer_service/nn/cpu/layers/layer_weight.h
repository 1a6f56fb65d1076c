// A weight of a layer, in the layouts of both passes.
#ifndef FGNN_TRAINER_SERVICE_NN_CPU_LAYERS_LAYER_WEIGHT_H_
#define FGNN_TRAINER_SERVICE_NN_CPU_LAYERS_LAYER_WEIGHT_H_

#include <cstdint>
#include <type_traits>

#include "trainer_service/compute/scratch.h"
#include "trainer_service/compute/widen.h"
#include "trainer_service/nn/cpu/kernels/products.h"
#include "trainer_service/nn/cpu/layers/layer_rows.h"

namespace fgnn {

// W [out, in], which is f32, packed to multiply Numbers. Several threads may
// call Forward() and Backward() at once.
template <typename Number>
class LayerWeight {
 public:
  // Copies the weight. `backward`: Backward() will be called. std::bad_alloc.
  void Pack(const Factor& weight, bool backward) {
    out_ = weight.rows;
    in_ = weight.columns;
    const FactorOf<Number> numbers = AsNumbers(weight);
    forward_.Pack(numbers.T());
    if (backward) backward_.Pack(numbers);
  }

  // Sets y [rows, out] = or += x W^T; x [rows, in].
  void Forward(const Number* x, int64_t rows, Into into, float* y) const {
    forward_.Multiply({x, rows, in_}, into, y);
  }
  // Sets dx [rows, in] = or += dy W; dy [rows, out].
  void Backward(const Number* dy, int64_t rows, Into into, float* dx) const {
    backward_.Multiply({dy, rows, out_}, into, dx);
  }

 private:
  // Returns the weight itself, or rounded copies.
  FactorOf<Number> AsNumbers(const Factor& weight) {
    if constexpr (std::is_same_v<Number, float>) {
      return weight;
    } else {
      const int64_t count = weight.rows * weight.columns;
      Number* const rounded = rounded_.Reserve(count);
      RoundToBfloat16s(weight.data, count, rounded);
      return {rounded, weight.rows, weight.columns};
    }
  }

  int64_t out_ = 0;
  int64_t in_ = 0;
  PackedFactorOf<Number> forward_;
  PackedFactorOf<Number> backward_;
  Scratch<Number> rounded_;
};

}  // namespace fgnn

#endif  // FGNN_TRAINER_SERVICE_NN_CPU_LAYERS_LAYER_WEIGHT_H_
