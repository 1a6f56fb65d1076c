// The checksum of a batch on the device beside the host's.
#ifndef FGNN_TESTS_GPU_SAMPLE_CRC_FIGURES_H_
#define FGNN_TESTS_GPU_SAMPLE_CRC_FIGURES_H_

#include <cstddef>
#include <cstdint>
#include <string>

#include "absl/types/span.h"
#include "tests/gpu/report.h"

namespace fgnn {

// Prints how long the CRC of a task's bytes takes on the host and on the
// device: of one task, which is in the cache, and of many copies, which are
// not. Beside them stands what the memory takes to be read. Checks that both
// sides agree.
// `num_blocks`: blocks of 256 threads that fill the device.
void PrintCrcs(const std::string& name, absl::Span<const std::byte> task,
               uint32_t num_blocks, Report* report);

}  // namespace fgnn

#endif  // FGNN_TESTS_GPU_SAMPLE_CRC_FIGURES_H_
