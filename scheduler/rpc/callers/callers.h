// Who makes a call, and whether it may run. Services ask at the begin of each
// call, before its request is read:
//
//   a local user's server   OneCaller: the kernel has named the caller
//   the port's server       PortCallers: the call shows who makes it
#ifndef FGNN_SCHEDULER_RPC_CALLERS_CALLERS_H_
#define FGNN_SCHEDULER_RPC_CALLERS_CALLERS_H_

#include <grpcpp/server_context.h>

#include <memory>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "scheduler/rpc/callers/caller.h"

namespace fgnn {

// What a call takes of its server while it runs.
enum class CallHolds { kNothing, kThread };

struct AdmittedCall {
  Caller caller;
  // The call's place among those that run, given back when the last owner goes;
  // nullptr: the call is not counted. Shared, as only its maker knows its type.
  std::shared_ptr<const void> place = nullptr;
};

// Thread-safe.
class Callers {
 public:
  virtual ~Callers() = default;

  // Looks at the headers of a call. `method` is as on the wire:
  // "/fgnn.v1.JobService/GetJob". Errors are for the client, and the call is
  // not to run.
  virtual absl::StatusOr<AdmittedCall> Admit(
      const grpc::ServerContextBase& context, absl::string_view method,
      CallHolds holds) = 0;
};

// The callers of a server that serves one user alone.
class OneCaller final : public Callers {
 public:
  explicit OneCaller(Caller caller) : caller_(std::move(caller)) {}

  absl::StatusOr<AdmittedCall> Admit(const grpc::ServerContextBase& /*context*/,
                                     absl::string_view /*method*/,
                                     CallHolds /*holds*/) override {
    return AdmittedCall{.caller = caller_};
  }

 private:
  const Caller caller_;
};

}  // namespace fgnn

#endif  // FGNN_SCHEDULER_RPC_CALLERS_CALLERS_H_
