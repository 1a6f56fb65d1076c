// Calls to other hosts, by a thread that is to end soon after a stop.
#ifndef FGNN_TRAINER_SERVICE_RPC_HOST_CALLS_H_
#define FGNN_TRAINER_SERVICE_RPC_HOST_CALLS_H_

#include <grpcpp/client_context.h>
#include <grpcpp/completion_queue.h>
#include <grpcpp/support/async_stream.h>
#include <grpcpp/support/async_unary_call.h>

#include <chrono>
#include <functional>
#include <memory>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "shared/rpc/call_events.h"
#include "shared/rpc/channel.h"
#include "shared/rpc/status.h"

namespace fgnn {

// A call that takes longer is made again.
inline constexpr std::chrono::minutes kLongestHostCall{10};

// Returns how a link failed, by the end of a call: Unavailable if the host may
// give another answer to the same question, else the error as it is.
inline absl::Status LinkError(const absl::Status& ended) {
  const bool stays = ended.ok() || absl::IsInvalidArgument(ended) ||
                     absl::IsFailedPrecondition(ended) ||
                     absl::IsPermissionDenied(ended) ||
                     absl::IsUnauthenticated(ended) ||
                     absl::IsUnimplemented(ended) || absl::IsDataLoss(ended);
  return stays ? ended : absl::UnavailableError(ended.message());
}

// Makes a call, which `prepare` returns, with one answer. Cancels it once
// `is_stopped` returned true; it is asked about ten times a second. Returns how
// the call ended.
template <typename Response>
absl::Status ReadAnswer(
    std::chrono::milliseconds within,
    absl::FunctionRef<
        std::unique_ptr<grpc::ClientAsyncResponseReader<Response>>(
            grpc::ClientContext*, grpc::CompletionQueue*)>
        prepare,
    const std::function<bool()>& is_stopped, Response* response) {
  grpc::ClientContext context;
  SetDeadline(context, within);
  grpc::CompletionQueue events;
  const auto reader = prepare(&context, &events);
  reader->StartCall();
  grpc::Status ended;
  reader->Finish(response, &ended, nullptr);
  AwaitEvent(events, [&] {
    if (is_stopped()) context.TryCancel();
  });
  DrainEvents(events);
  return FromGrpc(ended);
}

// Makes a call, which `prepare` returns, and calls `take` with each message
// once the one before was taken. Cancels the call after an error of `take`,
// which is the result, or once `is_stopped` returned true; it is asked about
// ten times a second. Else returns how the call ended.
template <typename Message>
absl::Status ReadStream(
    std::chrono::milliseconds within,
    absl::FunctionRef<std::unique_ptr<grpc::ClientAsyncReader<Message>>(
        grpc::ClientContext*, grpc::CompletionQueue*)>
        prepare,
    const std::function<bool()>& is_stopped,
    absl::FunctionRef<absl::Status(const Message&)> take) {
  grpc::ClientContext context;
  SetDeadline(context, within);
  grpc::CompletionQueue events;
  const auto await = [&] {
    return AwaitEvent(events, [&] {
      if (is_stopped()) context.TryCancel();
    });
  };
  const auto reader = prepare(&context, &events);
  reader->StartCall(nullptr);
  Message message;
  absl::Status taken;
  bool goes_on = await();
  while (goes_on) {
    reader->Read(&message, nullptr);
    goes_on = await();
    if (!goes_on || !taken.ok()) continue;  // The call ends soon.
    taken = take(message);
    if (!taken.ok()) context.TryCancel();
  }
  grpc::Status ended;
  reader->Finish(&ended, nullptr);
  await();
  DrainEvents(events);
  return taken.ok() ? FromGrpc(ended) : taken;
}

}  // namespace fgnn

#endif  // FGNN_TRAINER_SERVICE_RPC_HOST_CALLS_H_
