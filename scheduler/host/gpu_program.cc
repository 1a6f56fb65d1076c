#include "scheduler/host/gpu_program.h"

#include <signal.h>

#include <string>
#include <system_error>

#include "absl/strings/str_cat.h"
#include "shared/base/clock.h"
#include "shared/base/files/file.h"
#include "shared/base/status.h"
#include "shared/device/gpu_count.h"

namespace fgnn {
namespace {

constexpr std::chrono::seconds kGpuProgramKillTime{1};
constexpr size_t kAnswerBytes = 4096;

}  // namespace

absl::StatusOr<size_t> GpuProgram::Count() {
  const std::string what = absl::StrCat(program_.string(), " gpus");
  if (killed_.has_value()) {
    if (!killed_->HasEnded()) {
      return absl::UnavailableError(absl::StrCat(
          what, " (pid ", killed_->pid(), ") was killed and has not ended"));
    }
    killed_->Reap();
    killed_.reset();
  }
  std::error_code ignored;  // Usually there is no such file.
  std::filesystem::remove(log_, ignored);
  FGNN_ASSIGN_OR_RETURN(
      DaemonProcess process,
      DaemonProcess::Spawn(
          {.program = program_, .arguments = {"gpus"}, .log = log_}));
  if (!process.WaitForEnd(DeadlineIn(patience_))) {
    FGNN_RETURN_IF_ERROR(process.Signal(SIGKILL));
    process.WaitForEnd(DeadlineIn(kGpuProgramKillTime));
    killed_ = std::move(process);
    return absl::DeadlineExceededError(
        absl::StrCat(what, " did not end in time"));
  }
  const ProcessEnd end = process.Reap();
  const absl::StatusOr<std::string> answer = ReadFileEnd(log_, kAnswerBytes);
  std::filesystem::remove(log_, ignored);
  FGNN_RETURN_IF_ERROR(answer.status());
  if (end.exit_code.has_value()) return ParseGpuCount(*end.exit_code, *answer);
  return absl::UnavailableError(absl::StrCat(what, " ended ", end.how));
}

}  // namespace fgnn
