// The events of one asynchronous call, for a thread that waits for them.
#ifndef FGNN_SHARED_RPC_CALL_EVENTS_H_
#define FGNN_SHARED_RPC_CALL_EVENTS_H_

#include <grpcpp/completion_queue.h>

#include "absl/functional/function_ref.h"

namespace fgnn {

// Waits for the next event, and returns whether it is a success. Calls `tick`
// about ten times a second meanwhile. The call has a deadline, so that the
// event always comes.
bool AwaitEvent(grpc::CompletionQueue& events, absl::FunctionRef<void()> tick);

// Ends the queue, and takes what is left in it, as its destructor needs. Its
// calls have ended or were cancelled.
void DrainEvents(grpc::CompletionQueue& events);

}  // namespace fgnn

#endif  // FGNN_SHARED_RPC_CALL_EVENTS_H_
