#include "scheduler/rpc/watch_service.h"

#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "fgnn/v1/job_service.pb.h"
#include "fgnn/v1/member.pb.h"
#include "scheduler/rpc/callers/user_calls.h"
#include "shared/rpc/refused_call.h"
#include "shared/rpc/server.h"

namespace fgnn {

grpc::ServerGenericBidiReactor* WatchService::CreateReactor(
    grpc::GenericCallbackServerContext* context) {
  absl::StatusOr<AdmittedCall> call =
      callers_->Admit(*context, context->method(), CallHolds::kNothing);
  absl::Status check = call.status();
  const bool holds =
      links_ != nullptr &&
      context->method() == MethodOf(*v1::HoldLinkRequest::descriptor());
  if (check.ok() && !holds &&
      context->method() != MethodOf(*v1::WatchJobRequest::descriptor())) {
    check = absl::UnimplementedError("");
  }
  check.Update(CheckDeadline(context->deadline()));
  if (!check.ok()) return new RefusedCall(check);
  return holds ? links_->Hold(*std::move(call))
               : watchers_->Watch(*std::move(call));
}

}  // namespace fgnn
