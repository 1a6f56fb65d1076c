// Decides which comes first in a layer that has both: the sums over
// neighbourhoods, or the product with the weights.
#ifndef FGNN_TRAINER_SERVICE_NN_CPU_KERNELS_PRODUCT_ORDER_H_
#define FGNN_TRAINER_SERVICE_NN_CPU_KERNELS_PRODUCT_ORDER_H_

#include <cstdint>

#include "shared/minibatch/task.h"

namespace fgnn {

// The orders give equal results up to rounding.
enum class ProductOrder : uint8_t {
  kAggregateFirst,  // W sum(x_u): gathers rows of `in`.
  kTransformFirst,  // sum(W x_u): gathers rows of `out`.
  kCheapest,        // The cheaper one, estimated from the block's sizes alone.
};

// Input of the estimate beside the block.
struct LayerShape {
  int64_t in = 0;
  int64_t out = 0;
  // Whether the input is features, whose gradient is not needed.
  bool first = false;
};

// Returns true if the product comes first. `gathered_rows` are read for the
// sums.
bool TransformsFirst(ProductOrder order, const LayerShape& shape,
                     const BlockView& block, double gathered_rows);

}  // namespace fgnn

#endif  // FGNN_TRAINER_SERVICE_NN_CPU_KERNELS_PRODUCT_ORDER_H_
