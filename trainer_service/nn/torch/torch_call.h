// Calls libtorch and the user's code in it, on this thread alone. Exceptions
// become one line.
#ifndef FGNN_TRAINER_SERVICE_NN_TORCH_TORCH_CALL_H_
#define FGNN_TRAINER_SERVICE_NN_TORCH_TORCH_CALL_H_

#include <c10/util/ThreadLocalDebugInfo.h>

#include <algorithm>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <new>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "shared/base/threads/mutex.h"

namespace fgnn {

// Makes libtorch use only the calling thread: its own threads would spin, and
// its sums depend on their number. One call per thread is enough.
void UseOneTorchThread();

// Returns one line: the first of a C++ exception, the last of a TorchScript
// exception.
std::string ReasonOf(const std::exception& thrown);

// Calls `work` on one thread. InvalidArgument, with `what` and the reason: it
// threw. ResourceExhausted: it found no memory.
template <typename Work>
absl::Status CallTorch(const std::string& what, const Work& work) {
  UseOneTorchThread();
  try {
    work();
    return absl::OkStatus();
  } catch (const std::bad_alloc&) {
    return absl::ResourceExhaustedError(absl::StrCat(what, ": out of memory"));
  } catch (const std::exception& thrown) {
    return absl::InvalidArgumentError(
        absl::StrCat(what, " threw: ", ReasonOf(thrown)));
  } catch (...) {
    return absl::InvalidArgumentError(absl::StrCat(what, " threw"));
  }
}

// Seeds libtorch's generator, which the whole process shares, with `seed`. Only
// one such object exists at a time.
class SeededGenerator {
 public:
  explicit SeededGenerator(uint64_t seed);

 private:
  MutexLock lock_;
};

// Counts what libtorch allocates on this thread while it lives. Calls
// `on_allocation` each time, as a sign that the work goes on.
class TorchMemory {
 public:
  explicit TorchMemory(std::function<void()> on_allocation);

  uint64_t most_bytes() const;

 private:
  class Counter;
  std::shared_ptr<Counter> counter_;
  c10::DebugInfoGuard guard_;
};

}  // namespace fgnn

#endif  // FGNN_TRAINER_SERVICE_NN_TORCH_TORCH_CALL_H_
