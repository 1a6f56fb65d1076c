// Asks the sampler's program which GPUs this host has: the scheduler links no
// CUDA.
#ifndef FGNN_SCHEDULER_HOST_GPU_ASKER_H_
#define FGNN_SCHEDULER_HOST_GPU_ASKER_H_

#include <cstddef>
#include <filesystem>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "shared/base/threads/mutex.h"

namespace fgnn {

// Thread-safe.
class GpuAsker {
 public:
  // `sampler`: the program. `log`: a file that its answer is written to.
  GpuAsker(std::filesystem::path sampler, std::filesystem::path log)
      : sampler_(std::move(sampler)), log_(std::move(log)) {}

  // See CheckGpusAreHere(). Counts again only for a GPU that was not there
  // before, which takes up to a minute.
  absl::Status Check(const std::vector<std::string>& devices);

 private:
  absl::StatusOr<size_t> Count() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const std::filesystem::path sampler_;
  const std::filesystem::path log_;
  Mutex mutex_;
  size_t counted_ ABSL_GUARDED_BY(mutex_) = 0;
};

}  // namespace fgnn

#endif  // FGNN_SCHEDULER_HOST_GPU_ASKER_H_
