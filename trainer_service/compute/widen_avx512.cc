// Compiled with -mavx512bw; called only where the processor has it.
#include "trainer_service/compute/bfloat16_avx512.h"
#include "trainer_service/compute/widen_kernels.h"

namespace fgnn {

void RoundManyAvx512(const float* from, int64_t count, Bfloat16* to) {
  for (int64_t i = 0; i < count; i += kRoundedAtOnce) {
    _mm512_storeu_si512(to + i,
                        RoundToBfloat16x32(_mm512_loadu_ps(from + i),
                                           _mm512_loadu_ps(from + i + 16)));
  }
}

}  // namespace fgnn
