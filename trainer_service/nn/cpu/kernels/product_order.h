// Which comes first in a layer that has both: the sums over neighbourhoods or
// the product with the weights.
#ifndef FGNN_TRAINER_SERVICE_NN_CPU_KERNELS_PRODUCT_ORDER_H_
#define FGNN_TRAINER_SERVICE_NN_CPU_KERNELS_PRODUCT_ORDER_H_

#include <cstdint>

#include "shared/minibatch/task.h"

namespace fgnn {

// Equal up to rounding.
enum class ProductOrder : uint8_t {
  kAggregateFirst,  // W sum(x_u): gathers rows of `in`.
  kTransformFirst,  // sum(W x_u): gathers rows of `out`.
  kCheapest,        // By an estimate from the block's sizes alone.
};

// What the estimate looks at beside the block.
struct LayerShape {
  int64_t in = 0;
  int64_t out = 0;
  bool first = false;  // Its input is features, whose gradient nobody needs.
};

// Whether the product comes first. `gathered_rows` are read for the sums.
bool TransformsFirst(ProductOrder order, const LayerShape& shape,
                     const BlockView& block, double gathered_rows);

}  // namespace fgnn

#endif  // FGNN_TRAINER_SERVICE_NN_CPU_KERNELS_PRODUCT_ORDER_H_
