#include "trainer_service/nn/torch/torch_call.h"

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/Parallel.h>
#include <c10/core/Allocator.h>
#include <c10/util/Exception.h>

#include <mutex>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_split.h"

namespace fgnn {
namespace {

Mutex* GeneratorMutex() {
  static Mutex mutex;
  return &mutex;
}

}  // namespace

void UseOneTorchThread() {
  thread_local const bool single_threaded = (at::set_num_threads(1), true);
  static_cast<void>(single_threaded);
}

std::string ReasonOf(const std::exception& thrown) {
  const auto* const error = dynamic_cast<const c10::Error*>(&thrown);
  const std::string text =
      error == nullptr ? thrown.what() : error->what_without_backtrace();
  const std::vector<std::string> lines =
      absl::StrSplit(text, '\n', absl::SkipWhitespace());
  if (lines.empty()) return "nothing";
  return absl::StrContains(text, "TorchScript interpreter") ? lines.back()
                                                            : lines.front();
}

SeededGenerator::SeededGenerator(uint64_t seed) : lock_(GeneratorMutex()) {
  at::Generator generator = at::detail::getDefaultCPUGenerator();
  // A std::mutex, since libtorch owns it.
  const std::lock_guard<std::mutex> its_own(generator.mutex());
  generator.set_current_seed(seed);
}

class TorchMemory::Counter : public c10::MemoryReportingInfoBase {
 public:
  explicit Counter(std::function<void()> on_allocation)
      : on_allocation_(std::move(on_allocation)) {}

  void reportMemoryUsage(void* /*address*/, int64_t bytes, size_t /*allocated*/,
                         size_t /*reserved*/, c10::Device /*device*/) override {
    bytes_ += bytes;
    most_bytes_ = std::max(most_bytes_, bytes_);
    on_allocation_();
  }
  bool memoryProfilingEnabled() const override { return true; }

  int64_t most_bytes() const { return most_bytes_; }

 private:
  const std::function<void()> on_allocation_;
  int64_t bytes_ = 0;
  int64_t most_bytes_ = 0;
};

TorchMemory::TorchMemory(std::function<void()> on_allocation)
    : counter_(std::make_shared<Counter>(std::move(on_allocation))),
      guard_(c10::DebugInfoKind::PROFILER_STATE, counter_) {}

uint64_t TorchMemory::most_bytes() const {
  return static_cast<uint64_t>(counter_->most_bytes());
}

}  // namespace fgnn
