#include "scheduler/store/job_state.h"

#include "shared/base/enum_words.h"

namespace fgnn {
namespace {

constexpr EnumWord<JobState> kNames[] = {
    {JobState::kQueued, "queued"},       {JobState::kPreparing, "preparing"},
    {JobState::kRunning, "running"},     {JobState::kCancelling, "cancelling"},
    {JobState::kCompleted, "completed"}, {JobState::kFailed, "failed"},
    {JobState::kCancelled, "cancelled"}, {JobState::kPaused, "paused"}};

}  // namespace

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
             to == S::kQueued || to == S::kPaused;
    case S::kRunning:
      return to == S::kCompleted || to == S::kCancelling || to == S::kFailed ||
             to == S::kQueued || to == S::kPaused;
    case S::kCancelling:
      return IsFinal(to);
    case S::kCompleted:
    case S::kFailed:
    case S::kCancelled:
      return false;
  }
  return false;
}

std::string_view NameOf(JobState state) { return WordIn(kNames, state); }

std::optional<JobState> ParseJobState(int64_t number) {
  if (number < static_cast<int64_t>(JobState::kQueued) ||
      number > static_cast<int64_t>(JobState::kPaused)) {
    return std::nullopt;
  }
  return static_cast<JobState>(number);
}

}  // namespace fgnn
