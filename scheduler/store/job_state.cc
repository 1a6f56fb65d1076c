#include "scheduler/store/job_state.h"

namespace fgnn {

bool IsFinal(JobState state) {
  return state == JobState::kCompleted || state == JobState::kFailed ||
         state == JobState::kCancelled;
}

bool CanGo(JobState from, JobState to) {
  using S = JobState;
  switch (from) {
    case S::kQueued:
      return to == S::kPreparing || to == S::kPaused || to == S::kCancelled ||
             to == S::kFailed;
    case S::kPaused:
      return to == S::kQueued || to == S::kCancelled || to == S::kFailed;
    case S::kPreparing:
      return to == S::kRunning || to == S::kCancelling || to == S::kFailed ||
             to == S::kCancelled || to == S::kQueued || to == S::kPaused;
    case S::kRunning:
      return to == S::kCompleted || to == S::kCancelling || to == S::kFailed ||
             to == S::kCancelled || to == S::kQueued || to == S::kPaused;
    case S::kCancelling:
      return IsFinal(to);
    case S::kCompleted:
    case S::kFailed:
    case S::kCancelled:
      return false;
  }
  return false;
}

std::string_view NameOf(JobState state) {
  switch (state) {
    case JobState::kQueued:
      return "queued";
    case JobState::kPreparing:
      return "preparing";
    case JobState::kRunning:
      return "running";
    case JobState::kCancelling:
      return "cancelling";
    case JobState::kCompleted:
      return "completed";
    case JobState::kFailed:
      return "failed";
    case JobState::kCancelled:
      return "cancelled";
    case JobState::kPaused:
      return "paused";
  }
  return "unknown";
}

std::optional<JobState> ParseJobState(int64_t number) {
  if (number < static_cast<int64_t>(JobState::kQueued) ||
      number > static_cast<int64_t>(JobState::kPaused)) {
    return std::nullopt;
  }
  return static_cast<JobState>(number);
}

}  // namespace fgnn
