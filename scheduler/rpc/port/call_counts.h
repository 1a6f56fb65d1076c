// Counts the calls that run on the port, so that no user takes all of them.
#ifndef FGNN_SCHEDULER_RPC_PORT_CALL_COUNTS_H_
#define FGNN_SCHEDULER_RPC_PORT_CALL_COUNTS_H_

#include <memory>

#include "absl/status/statusor.h"
#include "scheduler/rpc/callers/callers.h"
#include "scheduler/rpc/callers/user_counts.h"
#include "shared/rpc/certificates/identity.h"

namespace fgnn {

// Thread-safe.
class CallCounts {
 public:
  // At once, of all users who are no operators, and of one of them.
  static constexpr int kMostCalls = 1'024;
  static constexpr int kMostCallsOfUser = 256;
  // Calls of one user that hold a thread, also of an operator.
  static constexpr int kMostThreadsOfUser = 64;

  // The place of one call, which its destructor gives back. nullptr: the call
  // is not counted so.
  struct Place {
    std::unique_ptr<UserCounts::Place> of_user, in_all, with_thread;
  };

  // Returns a place for a call of this user; an operator lacks no place, but
  // may lack a thread. ResourceExhausted: the user, or all users together, have
  // no place or thread left.
  absl::StatusOr<std::unique_ptr<Place>> Take(
      const Identity& identity, CallHolds holds = CallHolds::kNothing);

 private:
  UserCounts of_user_{kMostCallsOfUser};
  UserCounts in_all_{kMostCalls};
  UserCounts with_thread_{kMostThreadsOfUser};
};

}  // namespace fgnn

#endif  // FGNN_SCHEDULER_RPC_PORT_CALL_COUNTS_H_
