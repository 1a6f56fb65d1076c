// Calls of several executors at once.
#ifndef FGNN_SCHEDULER_EXECUTORS_CALL_TOGETHER_H_
#define FGNN_SCHEDULER_EXECUTORS_CALL_TOGETHER_H_

#include <cstddef>
#include <functional>

#include "absl/status/status.h"
#include "scheduler/executors/executor_calls.h"

namespace fgnn {

// Runs call(i, keep_going) for each i of `count`, all at once, each on a
// thread; returns when all have. Meanwhile `goes_on` is asked on this one: an
// error of it is the result, and keep_going ends the calls.
absl::Status CallTogether(
    size_t count,
    const std::function<void(size_t i, const KeepGoing& keep_going)>& call,
    const KeepGoing& goes_on);

}  // namespace fgnn

#endif  // FGNN_SCHEDULER_EXECUTORS_CALL_TOGETHER_H_
