#include "scheduler/jobs/job_state.h"

namespace fgnn {

bool IsFinal(JobState state) {
  return state == JobState::kCompleted || state == JobState::kFailed ||
         state == JobState::kCancelled;
}

bool CanGo(JobState from, JobState to) {
  switch (from) {
    case JobState::kQueued:
      // A queued job whose spec cannot be read any more fails at once.
      return to == JobState::kPreparing || to == JobState::kCancelled ||
             to == JobState::kFailed;
    case JobState::kPreparing:
      return to == JobState::kRunning || to == JobState::kCancelling ||
             to == JobState::kFailed || to == JobState::kCancelled;
    case JobState::kRunning:
      return to == JobState::kCompleted || to == JobState::kCancelling ||
             to == JobState::kFailed || to == JobState::kCancelled;
    case JobState::kCancelling:
      return IsFinal(to);
    case JobState::kCompleted:
    case JobState::kFailed:
    case JobState::kCancelled:
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
  }
  return "unknown";
}

std::optional<JobState> ParseJobState(int64_t number) {
  if (number < static_cast<int64_t>(JobState::kQueued) ||
      number > static_cast<int64_t>(JobState::kCancelled)) {
    return std::nullopt;
  }
  return static_cast<JobState>(number);
}

}  // namespace fgnn
