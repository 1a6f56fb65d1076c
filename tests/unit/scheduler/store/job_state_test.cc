#include "scheduler/store/job_state.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>
#include <utility>

namespace fgnn {
namespace {

constexpr JobState kAll[] = {JobState::kQueued,    JobState::kPreparing,
                             JobState::kRunning,   JobState::kCancelling,
                             JobState::kCompleted, JobState::kFailed,
                             JobState::kCancelled, JobState::kPaused};

TEST(JobStateTest, TheWaysAreThoseOfTheDrawing) {
  using S = JobState;
  const std::set<std::pair<S, S>> ways = {
      {S::kQueued, S::kPreparing},     {S::kQueued, S::kCancelled},
      {S::kQueued, S::kFailed},        {S::kPreparing, S::kRunning},
      {S::kPreparing, S::kCancelling}, {S::kPreparing, S::kFailed},
      {S::kPreparing, S::kCancelled},  {S::kRunning, S::kCompleted},
      {S::kRunning, S::kCancelling},   {S::kRunning, S::kFailed},
      {S::kRunning, S::kCancelled},    {S::kCancelling, S::kCompleted},
      {S::kCancelling, S::kFailed},    {S::kCancelling, S::kCancelled},
      {S::kQueued, S::kPaused},        {S::kPreparing, S::kPaused},
      {S::kRunning, S::kPaused},       {S::kPreparing, S::kQueued},
      {S::kRunning, S::kQueued},       {S::kPaused, S::kQueued},
      {S::kPaused, S::kCancelled},     {S::kPaused, S::kFailed}};
  for (const S from : kAll) {
    for (const S to : kAll) {
      EXPECT_EQ(CanGo(from, to), ways.contains({from, to}))
          << NameOf(from) << " to " << NameOf(to);
    }
  }
}

TEST(JobStateTest, FromAFinalStateThereIsNoWay) {
  for (const JobState from : kAll) {
    for (const JobState to : kAll) {
      EXPECT_FALSE(IsFinal(from) && CanGo(from, to));
    }
  }
}

TEST(JobStateTest, NumbersThatAreNoStateAreNone) {
  for (const JobState state : kAll) {
    EXPECT_EQ(ParseJobState(static_cast<int64_t>(state)), state);
  }
  EXPECT_EQ(ParseJobState(0), std::nullopt);
  EXPECT_EQ(ParseJobState(9), std::nullopt);
  EXPECT_EQ(ParseJobState(-1), std::nullopt);
}

}  // namespace
}  // namespace fgnn
