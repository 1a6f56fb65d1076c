// Counts this host's GPUs by the sampler's program: the scheduler links no
// CUDA.
#ifndef FGNN_SCHEDULER_HOST_GPU_PROGRAM_H_
#define FGNN_SCHEDULER_HOST_GPU_PROGRAM_H_

#include <chrono>
#include <cstddef>
#include <filesystem>
#include <optional>
#include <utility>

#include "absl/status/statusor.h"
#include "scheduler/host/book/daemon_process.h"

namespace fgnn {

// Not thread-safe.
class GpuProgram {
 public:
  // `program`: the sampler. `log`: a file that its answer is written to.
  // `patience`: the longest time to open the driver.
  GpuProgram(std::filesystem::path program, std::filesystem::path log,
             std::chrono::milliseconds patience = std::chrono::seconds(30))
      : program_(std::move(program)),
        log_(std::move(log)),
        patience_(patience) {}

  // Returns the number of GPUs, or why none can be used. DeadlineExceeded: the
  // program did not end in time; it is killed. Unavailable: the same program is
  // still there, as a driver keeps a killed process from ending.
  absl::StatusOr<size_t> Count();

 private:
  const std::filesystem::path program_;
  const std::filesystem::path log_;
  const std::chrono::milliseconds patience_;
  std::optional<DaemonProcess> killed_;  // One that did not end in time.
};

}  // namespace fgnn

#endif  // FGNN_SCHEDULER_HOST_GPU_PROGRAM_H_
