// The states of a job and the steps between them. Pure.
//
//   PAUSED ◀──────┬────────────┐
//     ▲ │         │            │
//     │ ▼         │            │
//   QUEUED ──▶ PREPARING ──▶ RUNNING ──▶ COMPLETED
//     ││ ▲        │ │ │        │ │ │
//     ││ └────────┴─┼─┼────────┘ │ │   (it is preempted, or tried again)
//     ││            │ └─▶ FAILED ◀─┤
//     ││            ▼            ▼ │
//     ││         CANCELLING ◀──────┘
//     ▼▼            ▼
//      CANCELLED ◀──┘   (CANCELLING may end in FAILED or COMPLETED too: what
//                        happened first stands)
//
// PAUSED and QUEUED may end in CANCELLED and in FAILED (a job that they wait
// for failed, or the spec cannot be read any more).
#ifndef FGNN_SCHEDULER_STORE_JOB_STATE_H_
#define FGNN_SCHEDULER_STORE_JOB_STATE_H_

#include <cstdint>
#include <optional>
#include <string_view>

namespace fgnn {

// The numbers are those of fgnn.v1.JobState and of the job store.
enum class JobState : uint8_t {
  kQueued = 1,
  kPreparing = 2,
  kRunning = 3,
  kCancelling = 4,
  kCompleted = 5,
  kFailed = 6,
  kCancelled = 7,
  kPaused = 8,
};

// Returns whether the state is completed, failed or cancelled.
bool IsFinal(JobState state);

// Returns whether a job may go from one state to the other. Returns false for
// equal states.
bool CanGo(JobState from, JobState to);

std::string_view NameOf(JobState state);  // Returns a word such as "queued".

// Returns the state with this number; nullopt: there is none.
std::optional<JobState> ParseJobState(int64_t number);

}  // namespace fgnn

#endif  // FGNN_SCHEDULER_STORE_JOB_STATE_H_
