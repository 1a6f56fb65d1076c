// How libtorch and the user's code in it are called: on this thread alone, and
// with exceptions as one line.
#ifndef FGNN_TRAINER_SERVICE_NN_TORCH_TORCH_CALL_H_
#define FGNN_TRAINER_SERVICE_NN_TORCH_TORCH_CALL_H_

#include <c10/util/ThreadLocalDebugInfo.h>

#include <algorithm>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <new>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace fgnn {

// libtorch's threads would spin, and its sums depend on their number. Of the
// calling thread, which need not be told twice.
void UseOneTorchThread();

// One line: of a C++ exception its first, of a TorchScript's its last.
std::string ReasonOf(const std::exception& thrown);

// Calls `work`, on one thread. InvalidArgument with `what` and the reason: it
// threw; ResourceExhausted: for memory.
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

// libtorch's generator is the process's. While this lives it begins with
// `seed`, and no other of these lives.
class SeededGenerator {
 public:
  explicit SeededGenerator(uint64_t seed);

 private:
  std::lock_guard<std::mutex> lock_;
};

// Counts what libtorch allocates on this thread while it lives, and calls
// `on_allocation` each time: a sign that the work goes on.
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
