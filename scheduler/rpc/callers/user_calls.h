// The way of each unary call of a user, which every handler takes:
//
//   headers ─▶ Callers: who, and may it run? ─▶ the request is read ─▶
//   deadline, lengths ─▶ handler ─▶ a line in the audit log, if it is a change
//   ─▶ answer
//
// A call that may not run is answered before any byte of its request is read.
#ifndef FGNN_SCHEDULER_RPC_CALLERS_USER_CALLS_H_
#define FGNN_SCHEDULER_RPC_CALLERS_USER_CALLS_H_

#include <grpcpp/server_context.h>
#include <grpcpp/support/byte_buffer.h>
#include <grpcpp/support/sync_stream.h>

#include <memory>
#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "google/protobuf/descriptor.h"
#include "scheduler/rpc/audit/audit_log.h"
#include "scheduler/rpc/callers/caller.h"
#include "scheduler/rpc/callers/callers.h"
#include "scheduler/rpc/submit_request.h"
#include "shared/base/status.h"
#include "shared/rpc/server.h"

namespace fgnn {

// Returns the name of the method that has these requests, as on the wire. Each
// method has requests of its own. Returns "" if there is none.
std::string MethodOf(const google::protobuf::Descriptor& request);

// Returns the answer to a call whose request cannot be read.
absl::Status NoRequest();

// Returns the request of a stream that gRPC has read as bytes. `ok`: whether it
// has. Errors: NoRequest(), and those of CheckLengths().
template <typename Request>
absl::StatusOr<Request> ParseRequest(bool ok, const grpc::ByteBuffer& bytes) {
  grpc::Slice slice;
  Request request;
  if (!ok || !bytes.DumpToSingleSlice(&slice).ok() ||
      !request.ParseFromArray(slice.begin(), static_cast<int>(slice.size()))) {
    return NoRequest();
  }
  FGNN_RETURN_IF_ERROR(CheckLengths(request));
  return request;
}

// A call as its handler sees it. Borrows all.
template <typename Request, typename Response>
struct UserCall {
  const Caller& caller;
  grpc::ServerContext& context;
  const Request& request;
  Response& response;
};

// Thread-safe.
class UserCalls {
 public:
  // `callers` is shared by the services of one server. Borrows `audit`.
  UserCalls(std::shared_ptr<Callers> callers, AuditLog* audit)
      : callers_(std::move(callers)), audit_(audit) {}

  // Serves a call that changes nothing. `handler` takes a UserCall, and returns
  // absl::Status.
  template <typename Request, typename Response, typename Handler>
  grpc::Status Read(grpc::ServerContext* context,
                    grpc::ServerUnaryStreamer<Request, Response>* stream,
                    const Handler& handler) const {
    return Serve(*context, *stream, handler, nullptr);
  }
  // Serves a call that changes something.
  template <typename Request, typename Response, typename Handler>
  grpc::Status Change(grpc::ServerContext* context,
                      grpc::ServerUnaryStreamer<Request, Response>* stream,
                      const Handler& handler) const {
    return Serve(*context, *stream, handler, audit_);
  }

 private:
  template <typename Request, typename Response, typename Handler>
  grpc::Status Serve(grpc::ServerContext& context,
                     grpc::ServerUnaryStreamer<Request, Response>& stream,
                     const Handler& handler, AuditLog* audit) const {
    const absl::StatusOr<AdmittedCall> admitted = callers_->Admit(
        context, MethodOf(*Request::descriptor()), CallHolds::kThread);
    if (!admitted.ok()) return ToGrpc(admitted.status());
    Request request;
    if (!stream.Read(&request)) return ToGrpc(NoRequest());
    Response response;
    UserCall<Request, Response> call = {admitted->caller, context, request,
                                        response};
    grpc::Status status = ServeCall(context, [&]() -> absl::Status {
      FGNN_RETURN_IF_ERROR(CheckLengths(request));
      return handler(call);
    });
    if (audit != nullptr) {
      audit->Write(call.caller.name, Describe(call.caller, context), request,
                   response, status);
    }
    // The answer and its status leave together.
    if (status.ok()) stream.WriteLast(response, {});
    return status;
  }

  const std::shared_ptr<Callers> callers_;
  AuditLog* const audit_;
};

}  // namespace fgnn

#endif  // FGNN_SCHEDULER_RPC_CALLERS_USER_CALLS_H_
