#include "trainer_service/features/cuda/wait_for_work.h"

#include <chrono>

#include "absl/strings/str_cat.h"
#include "shared/base/clock.h"

namespace fgnn {

absl::Status WaitForWork(const CudaEvent& event, ThreadTeam& team) {
  constexpr std::chrono::milliseconds kTick{10};
  constexpr std::chrono::seconds kPatience{60};
  const Deadline patience = DeadlineIn(kPatience);
  while (true) {
    const absl::Status status = event.Wait(DeadlineIn(kTick));
    team.CountTask();
    if (!absl::IsDeadlineExceeded(status)) return status;
    if (MonotonicClock::now() >= patience) {
      return absl::InternalError(absl::StrCat("the device has worked for ",
                                              kPatience.count(),
                                              " s on what takes milliseconds"));
    }
  }
}

}  // namespace fgnn
