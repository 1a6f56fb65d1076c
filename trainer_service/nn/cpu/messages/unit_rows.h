// Scales rows to length 1 (L2), on the calling thread.
#ifndef FGNN_TRAINER_SERVICE_NN_CPU_MESSAGES_UNIT_ROWS_H_
#define FGNN_TRAINER_SERVICE_NN_CPU_MESSAGES_UNIT_ROWS_H_

#include <cstdint>

#include "trainer_service/compute/widen.h"

namespace fgnn {

// Divides each row of x [rows, columns] by its length. A row shorter than
// 2^-126, the smallest normal float, becomes zeros. inverse_lengths [rows] are
// the factors.
void ScaleToUnitLength(int64_t rows, int64_t columns, float* x,
                       float* inverse_lengths);

// Computes the gradient of the rows before the scaling from that of the unit
// rows. It is the part at a right angle to the unit row, times the inverse
// length. All are [rows, columns]; `gradient` may not be `out`.
void GradientOfUnitLength(const float* unit, const float* inverse_lengths,
                          const float* gradient, int64_t rows, int64_t columns,
                          float* out);
void GradientOfUnitLength(const Bfloat16* unit, const float* inverse_lengths,
                          const Bfloat16* gradient, int64_t rows,
                          int64_t columns, float* out);

}  // namespace fgnn

#endif  // FGNN_TRAINER_SERVICE_NN_CPU_MESSAGES_UNIT_ROWS_H_
