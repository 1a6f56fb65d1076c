// The calls HoldLink of a service's members. A call that breaks tells at once
// that its member has ended. A call costs no thread.
#ifndef FGNN_SCHEDULER_RPC_MEMBERS_HELD_LINKS_H_
#define FGNN_SCHEDULER_RPC_MEMBERS_HELD_LINKS_H_

#include <grpcpp/generic/async_generic_service.h>

#include <cstddef>
#include <memory>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "scheduler/members/member_table.h"
#include "scheduler/rpc/callers/callers.h"
#include "shared/base/threads/mutex.h"

namespace fgnn {

// Thread-safe.
class HeldLinks {
 public:
  // Borrows the table.
  explicit HeldLinks(MemberTable* members) : members_(members) {}
  // The servers of the calls have to be shut down before.
  ~HeldLinks() = default;
  HeldLinks(const HeldLinks&) = delete;
  HeldLinks& operator=(const HeldLinks&) = delete;

  // Makes the call's other end, which gRPC owns. It reads the request, and
  // holds the call until its client leaves or EndAll().
  grpc::ServerGenericBidiReactor* Hold(AdmittedCall call);
  // Ends all calls with UNAVAILABLE and refuses new ones: the service ends.
  void EndAll();
  // Returns the number of calls that are held.
  size_t num_held() const;

 private:
  class Link;

  // Unavailable: the service ends.
  absl::Status Join(std::shared_ptr<Link> link);

  MemberTable* const members_;
  mutable Mutex mutex_;
  // Calls whose requests were read.
  std::vector<std::shared_ptr<Link>> links_ ABSL_GUARDED_BY(mutex_);
  bool is_ending_ ABSL_GUARDED_BY(mutex_) = false;
};

}  // namespace fgnn

#endif  // FGNN_SCHEDULER_RPC_MEMBERS_HELD_LINKS_H_
