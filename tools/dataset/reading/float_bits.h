// Half precision and bfloat16 by their bits: no compiler that we build with has
// both types.
#ifndef FGNN_TOOLS_DATASET_READING_FLOAT_BITS_H_
#define FGNN_TOOLS_DATASET_READING_FLOAT_BITS_H_

#include <cstdint>

namespace fgnn {

float HalfToFloat(uint16_t half);
// Rounds to nearest, ties to even. A value that is too large becomes an
// infinity.
uint16_t FloatToHalf(float value);
uint16_t FloatToBfloat16(float value);

}  // namespace fgnn

#endif  // FGNN_TOOLS_DATASET_READING_FLOAT_BITS_H_
