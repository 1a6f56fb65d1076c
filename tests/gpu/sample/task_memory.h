// Memory for a task, which CUDA may know.
#ifndef FGNN_TESTS_GPU_SAMPLE_TASK_MEMORY_H_
#define FGNN_TESTS_GPU_SAMPLE_TASK_MEMORY_H_

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <optional>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "shared/base/status.h"
#include "shared/device/cuda/pinned_range.h"

namespace fgnn {

class TaskMemory {
 public:
  static absl::StatusOr<TaskMemory> Make(uint64_t bytes, bool registered) {
    constexpr uint64_t kPage = 4096;
    TaskMemory made;
    made.size_ = (bytes + kPage - 1) / kPage * kPage;
    made.memory_.reset(
        static_cast<std::byte*>(std::aligned_alloc(kPage, made.size_)));
    if (!registered) return made;
    FGNN_ASSIGN_OR_RETURN(
        made.range_,
        PinnedRange::Make(made.memory_.get(), made.memory_.get() + made.size_,
                          PinnedRange::Access::kReadWrite));
    return made;
  }
  absl::Span<std::byte> span() const { return {memory_.get(), size_}; }

 private:
  TaskMemory() = default;
  struct Free {
    void operator()(std::byte* memory) const { std::free(memory); }
  };
  std::unique_ptr<std::byte, Free> memory_;
  uint64_t size_ = 0;
  std::optional<PinnedRange> range_;  // Goes before the memory.
};

}  // namespace fgnn

#endif  // FGNN_TESTS_GPU_SAMPLE_TASK_MEMORY_H_
