// Counts the calls that run on the port, so that no user takes all of them.
#ifndef FGNN_SCHEDULER_RPC_PORT_CALL_COUNTS_H_
#define FGNN_SCHEDULER_RPC_PORT_CALL_COUNTS_H_

#include <map>
#include <memory>
#include <string>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "shared/base/threads/mutex.h"
#include "shared/rpc/certificates/identity.h"

namespace fgnn {

// Thread-safe.
class CallCounts {
 public:
  // At once, of all users who are no operators, and of one of them.
  static constexpr int kMostCalls = 1'024;
  static constexpr int kMostCallsOfUser = 256;

  // The place of one call, which its destructor gives back.
  class Place {
   public:
    // Borrows `counts`. nullptr: the call is not counted.
    Place(CallCounts* counts, std::string user)
        : counts_(counts), user_(std::move(user)) {}
    ~Place();
    Place(const Place&) = delete;
    Place& operator=(const Place&) = delete;

   private:
    CallCounts* const counts_;
    const std::string user_;
  };

  // Returns a place for a call of this user; an operator always gets one.
  // ResourceExhausted: the user, or all users together, have no place left.
  absl::StatusOr<std::unique_ptr<Place>> Take(const Identity& identity);

 private:
  void GiveBack(const std::string& user);

  Mutex mutex_;
  int num_calls_ ABSL_GUARDED_BY(mutex_) = 0;
  std::map<std::string, int> by_user_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace fgnn

#endif  // FGNN_SCHEDULER_RPC_PORT_CALL_COUNTS_H_
