// Memory for any task of a job, as large as a slot of the queue.
#ifndef FGNN_TOOLS_BENCH_FILES_TASK_BLOCK_H_
#define FGNN_TOOLS_BENCH_FILES_TASK_BLOCK_H_

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "sampler_service/sampling/sampler.h"

namespace fgnn {

class TaskBlock {
 public:
  // Reserves memory for tasks of the hard bound; pages are taken as they are
  // touched. ResourceExhausted names the flags.
  static absl::StatusOr<TaskBlock> Create(const SamplerInput& input,
                                          const SamplerOptions& options) {
    return OfBytes(MaxTaskBytesOf(input.graph, options));
  }
  // The same for tasks of another bound. `flags`: those that lower it.
  static absl::StatusOr<TaskBlock> OfBytes(
      uint64_t bound,
      const char* flags = "--fanouts, --batch-size or --threads") {
    constexpr uint64_t kAlignmentBytes = 64;
    const uint64_t bytes =
        bound > UINT64_MAX - kAlignmentBytes
            ? bound
            : (bound + kAlignmentBytes - 1) / kAlignmentBytes * kAlignmentBytes;
    auto* const memory =
        static_cast<std::byte*>(std::aligned_alloc(kAlignmentBytes, bytes));
    if (memory == nullptr) {
      return absl::ResourceExhaustedError(absl::StrCat(
          "a mini-batch may take ", bound,
          " bytes, and a thread has no room for it; lower ", flags));
    }
    return TaskBlock(memory, bytes);
  }
  absl::Span<std::byte> span() const { return {memory_.get(), bytes_}; }

 private:
  struct Free {
    void operator()(std::byte* memory) const { std::free(memory); }
  };
  TaskBlock(std::byte* memory, uint64_t bytes)
      : memory_(memory), bytes_(bytes) {}
  std::unique_ptr<std::byte, Free> memory_;
  uint64_t bytes_;
};

}  // namespace fgnn

#endif  // FGNN_TOOLS_BENCH_FILES_TASK_BLOCK_H_
