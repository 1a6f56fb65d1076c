#include "tests/unit/trainer_service/test_gpu.h"

namespace fgnn {

void SetInterleaving(uint64_t /*interleaving*/) {}

}  // namespace fgnn
