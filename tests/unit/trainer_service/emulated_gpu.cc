#include <cstddef>

#include "tests/fakes/cuda/fake_cudart.h"
#include "tests/simt/scheduler.h"
#include "tests/unit/trainer_service/test_gpu.h"

namespace fgnn {

// At 0 a thread runs until it waits.
void SetInterleaving(uint64_t interleaving) {
  simt::SetOptions({.seed = interleaving,
                    .blocks_at_once = interleaving % 2 == 0 ? 1U : 3U});
  simt::FakeDevice device;
  device.memory_bytes = size_t{1} << 30;
  device.seed = interleaving + 1;
  simt::SetFakeDevice(device);
}

}  // namespace fgnn
