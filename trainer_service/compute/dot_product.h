// The dot product of two rows.
#ifndef FGNN_TRAINER_SERVICE_COMPUTE_DOT_PRODUCT_H_
#define FGNN_TRAINER_SERVICE_COMPUTE_DOT_PRODUCT_H_

#include <cstdint>

namespace fgnn {

// Computes in f32, in an order that depends on `columns` alone.
float DotProduct(const float* a, const float* b, int64_t columns);

}  // namespace fgnn

#endif  // FGNN_TRAINER_SERVICE_COMPUTE_DOT_PRODUCT_H_
