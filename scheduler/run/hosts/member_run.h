// One job on a member: its daemons and its segment, as the head orders them.
#ifndef FGNN_SCHEDULER_RUN_HOSTS_MEMBER_RUN_H_
#define FGNN_SCHEDULER_RUN_HOSTS_MEMBER_RUN_H_

#include <cstdint>
#include <functional>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "scheduler/executors/executor_calls.h"
#include "scheduler/members/member_messages.h"
#include "scheduler/run/device_planner.h"
#include "scheduler/run/hosts/member_epochs.h"
#include "scheduler/run/run_context.h"
#include "scheduler/run/run_memory.h"

namespace fgnn {

// Returns the order of the run as it is now, within about a tick: at once if it
// has places. Returns why the run is to end.
using AskOrder = absl::FunctionRef<absl::StatusOr<MemberJobOrder>()>;

// Opens the segment as far as the openings say: see MemberJobOrder.
void OpenAsOrdered(const std::vector<MemberOpening>& openings,
                   JobSegment& segment);

// Not thread-safe: for one thread. What takes long asks `keep_going` about ten
// times a second, and ends with its error.
class MemberRun {
 public:
  // See JobEnvironment; it has no dispatcher and no members.
  MemberRun(const MemberJobOrder& order, const JobEnvironment& environment,
            KeepGoing keep_going);
  // Lets go of the daemons and of the segment.
  ~MemberRun();
  MemberRun(const MemberRun&) = delete;
  MemberRun& operator=(const MemberRun&) = delete;

  // Validates the dataset, starts daemons, measures, waits for its places,
  // plans, makes the segment and attaches all daemons. Calls `tell` when
  // findings() have changed. FailedPrecondition: the dataset has other contents
  // than the head's.
  absl::Status Prepare(absl::FunctionRef<void()> tell, AskOrder ask);
  const HostFindings& findings() const { return run_.findings; }
  HostExecutors executors() const {
    return {.views = run_.executors.Views(),
            .restarts = run_.executors.restarts(),
            .clock_start = clock_start_};
  }
  // Opens the segment as far as the openings say, attaches daemons that came
  // back, and waits for a tick or until a step is made. Call it again and
  // again once Prepare() is OK. Returns why the run cannot go on.
  absl::Status Follow(const std::vector<MemberOpening>& openings);

  // Takes part in an evaluation by all hosts, once this host has the version of
  // the weights after which it comes. Goes on while `is_ordered` returns true,
  // since other hosts may lack results.
  absl::Status Evaluate(const MemberEvaluation& evaluation,
                        const std::function<bool()>& is_ordered);

 private:
  // Waits for an order with places, and takes its numbers.
  absl::Status WaitForPlaces(AskOrder ask);
  // Waits until the first weights have come, and the exchange reaches all
  // hosts.
  absl::Status WaitForOthers(absl::FunctionRef<void()> tell);

  uint64_t first_version_ = 0;
  const double clock_start_;  // See HostExecutors.
  RunContext run_;
  DevicePlanner planner_;
  MemberEpochs epochs_{&planner_};
  RunMemory memory_;
};

}  // namespace fgnn

#endif  // FGNN_SCHEDULER_RUN_HOSTS_MEMBER_RUN_H_
