// The scheduler of a member: a host that has joined a head. It has daemons, and
// no jobs and no clients of its own.
#ifndef FGNN_SCHEDULER_DAEMON_MEMBER_DAEMON_H_
#define FGNN_SCHEDULER_DAEMON_MEMBER_DAEMON_H_

#include <memory>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "scheduler/daemon/scheduler_options.h"
#include "scheduler/members/member_messages.h"
#include "shared/base/threads/signal_waiter.h"

namespace fgnn {

// Returns what other hosts are told of this one, but for its generation.
MemberFacts FactsOf(const SchedulerOptions& options);

class MemberDaemon {
 public:
  // Joins options.join. Returns the head's refusal of this host, e.g. for
  // another version. A head that is not there is waited for. AlreadyExists:
  // another service runs in the state folder.
  static absl::StatusOr<std::unique_ptr<MemberDaemon>> Start(
      const SchedulerOptions& options);
  // Lets go of the job and ends the daemons.
  ~MemberDaemon();
  MemberDaemon(const MemberDaemon&) = delete;
  MemberDaemon& operator=(const MemberDaemon&) = delete;

  // Serves until `stop`, or until the state folder is gone.
  absl::Status ServeUntil(const SignalWaiter& stop);

 private:
  struct Parts;
  explicit MemberDaemon(std::unique_ptr<Parts> parts);

  std::unique_ptr<Parts> parts_;
};

}  // namespace fgnn

#endif  // FGNN_SCHEDULER_DAEMON_MEMBER_DAEMON_H_
