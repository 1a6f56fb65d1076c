// The dot product of two rows.
#ifndef FGNN_TRAINER_SERVICE_COMPUTE_DOT_PRODUCT_H_
#define FGNN_TRAINER_SERVICE_COMPUTE_DOT_PRODUCT_H_

#include <cstdint>

namespace fgnn {

// In f32, and in an order that is fixed by `columns`.
float DotProduct(const float* a, const float* b, int64_t columns);

}  // namespace fgnn

#endif  // FGNN_TRAINER_SERVICE_COMPUTE_DOT_PRODUCT_H_
