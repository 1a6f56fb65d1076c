#include "scheduler/host/gpu_asker.h"

#include <signal.h>

#include <chrono>
#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"
#include "scheduler/host/book/daemon_process.h"
#include "shared/base/clock.h"
#include "shared/base/files/file.h"
#include "shared/base/status.h"
#include "shared/device/gpu_count.h"

namespace fgnn {
namespace {

// Longest time to open the driver.
constexpr std::chrono::minutes kGpuTimeout{1};
constexpr size_t kAnswerBytes = 4096;

}  // namespace

absl::Status GpuAsker::Check(const std::vector<std::string>& devices) {
  const MutexLock lock(&mutex_);
  const absl::Status known =
      CheckGpusAreHere(devices, [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
        return absl::StatusOr<size_t>(counted_);
      });
  if (known.ok()) return known;
  const absl::StatusOr<size_t> now = Count();
  if (now.ok()) counted_ = *now;
  return CheckGpusAreHere(devices, [&now] { return now; });
}

absl::StatusOr<size_t> GpuAsker::Count() {
  std::error_code ignored;  // Usually there is no such file.
  std::filesystem::remove(log_, ignored);
  FGNN_ASSIGN_OR_RETURN(
      DaemonProcess process,
      DaemonProcess::Spawn(
          {.program = sampler_, .arguments = {"gpus"}, .log = log_}));
  const bool ended = process.WaitForEnd(DeadlineIn(kGpuTimeout));
  if (!ended) {
    FGNN_RETURN_IF_ERROR(process.Signal(SIGKILL));
    process.WaitForEnd(DeadlineIn(kGpuTimeout));
  }
  const ProcessEnd end = process.Reap();
  const absl::StatusOr<std::string> answer = ReadFileEnd(log_, kAnswerBytes);
  std::filesystem::remove(log_, ignored);
  if (!ended) {
    return absl::DeadlineExceededError(
        absl::StrCat(sampler_.string(), " gpus did not end"));
  }
  FGNN_RETURN_IF_ERROR(answer.status());
  if (end.exit_code.has_value()) return ParseGpuCount(*end.exit_code, *answer);
  return absl::UnavailableError(
      absl::StrCat(sampler_.string(), " gpus ended ", end.how));
}

}  // namespace fgnn
