// Calls of several executors at once.
#ifndef FGNN_SCHEDULER_EXECUTORS_CALL_TOGETHER_H_
#define FGNN_SCHEDULER_EXECUTORS_CALL_TOGETHER_H_

#include <cstddef>
#include <functional>

#include "absl/status/status.h"
#include "scheduler/executors/executor_calls.h"

namespace fgnn {

// Runs call(i, keep_going) for each i below `count`, all at once, each on a
// thread of its own. Returns once all calls have returned. Meanwhile the
// calling thread asks `goes_on`. If that returns an error, keep_going ends the
// calls, and the error is the result.
absl::Status CallTogether(
    size_t count,
    const std::function<void(size_t i, const KeepGoing& keep_going)>& call,
    const KeepGoing& goes_on);

}  // namespace fgnn

#endif  // FGNN_SCHEDULER_EXECUTORS_CALL_TOGETHER_H_
