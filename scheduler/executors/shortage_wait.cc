#include "scheduler/executors/shortage_wait.h"

#include <chrono>

#include "absl/strings/str_cat.h"
#include "shared/base/clock.h"
#include "shared/base/status.h"
#include "shared/telemetry/log.h"

namespace fgnn {
namespace {

constexpr std::chrono::seconds kPatience{60};
constexpr std::chrono::seconds kTryEvery{2};

}  // namespace

absl::Status ShortageWait::BeforeNextTry(const absl::Status& failed) {
  if (!absl::IsResourceExhausted(failed)) return failed;
  const Deadline now = clock_();
  if (!give_up_.has_value()) {
    give_up_ = now + kPatience;
    LogWarning("job {}: {} waits for room, {} s at most: {}", job_id_, what_,
               kPatience.count(), MessageOf(failed));
  }
  if (now >= *give_up_) {
    return absl::ResourceExhaustedError(absl::StrCat(failed.message(), "; ",
                                                     what_, " was tried for ",
                                                     kPatience.count(), " s"));
  }
  while (clock_() < now + kTryEvery) {
    FGNN_RETURN_IF_ERROR(goes_on_());
    never_.WaitUntil(DeadlineIn(kTick));
  }
  return absl::OkStatus();
}

}  // namespace fgnn
