// Several jobs at once in the table of jobs, each with devices of its own, and
// what a restart of the service makes of them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sqlite3.h>

#include <chrono>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"
#include "scheduler/jobs/job_table.h"
#include "shared/base/clock.h"
#include "tests/fakes/default_job.h"
#include "tests/fakes/devices.h"
#include "tests/fakes/status_matchers.h"
#include "tests/fakes/temp_folder.h"

namespace fgnn {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr std::chrono::seconds kDevicesWait{60};

// Returns the spec of a job that asks for devices by name, "cpu:0 cpu:1", for a
// number, or for "1 to 2".
std::shared_ptr<const JobSpec> SpecFor(const std::string& devices) {
  JobSpec spec = *SharedJob();
  DeviceRequestSpec request = {.kind = "any"};
  const std::vector<std::string> range = absl::StrSplit(devices, " to ");
  if (!absl::SimpleAtoi(range.front(), &request.min)) {
    spec.devices = Devs(absl::StrSplit(devices, ' ', absl::SkipEmpty()));
  } else if (absl::SimpleAtoi(range.back(), &request.max)) {
    spec.device_request = request;
  }
  return std::make_shared<const JobSpec>(std::move(spec));
}

class JobTableDevicesTest : public testing::Test {
 protected:
  JobTableDevicesTest() { Reopen({"cpu:0", "cpu:1", "cpu:2"}); }

  void Reopen(const std::vector<std::string>& devices) {
    table_.reset();
    table_ = JobTable::Open(JobStore::Open(folder_ / "jobs.sqlite").value(),
                            folder_.path(), {.devices = Devs(devices)})
                 .value();
  }
  std::string Submit(const std::string& spec, JobRequest request = {}) {
    request.spec = SpecFor(spec);
    return table_->Submit(request).value().id;
  }
  Job JobOf(const std::string& id) { return table_->Get(id)->job; }
  // Of the job that starts next.
  std::vector<Device> Start(const std::string& id) {
    const Job job =
        table_->dispatcher().StartNext(DeadlineIn(kDevicesWait)).value();
    EXPECT_EQ(job.id, id);
    table_->dispatcher().MarkRunning(job.id);
    EXPECT_EQ(JobOf(id).devices, job.devices);
    return job.devices;
  }
  bool NothingStarts() {
    return !table_->dispatcher().StartNext(Deadline::min()).has_value();
  }
  void Complete(const std::string& id) {
    table_->dispatcher().End(id, JobState::kCompleted, absl::OkStatus());
  }

  TempFolder folder_;
  std::unique_ptr<JobTable> table_;
};

TEST_F(JobTableDevicesTest, JobsRunBesideEachOtherOnDevicesOfTheirOwn) {
  const std::string one = Submit("1");
  const std::string two = Submit("2");
  const std::string named = Submit("cpu:1");
  EXPECT_THAT(Start(one), ElementsAre("cpu:0"));
  EXPECT_THAT(Start(two), ElementsAre("cpu:1", "cpu:2"));
  EXPECT_TRUE(NothingStarts());
  EXPECT_EQ(table_->counts().running, 2U);
  EXPECT_EQ(table_->counts().queued, 1U);
  EXPECT_EQ(table_->counts().paused, 0U);
  EXPECT_THAT(JobOf(named).devices, IsEmpty());
  EXPECT_EQ(JobOf(named).waiting_for,
            "next; waits for cpu:1, which job " + two + " has");
  Complete(one);
  EXPECT_TRUE(NothingStarts());
  Complete(two);
  EXPECT_THAT(Start(named), ElementsAre("cpu:1"));
  EXPECT_THAT(JobOf(two).devices, ElementsAre("cpu:1", "cpu:2"));
  EXPECT_EQ(table_->counts().running, 1U);
}

TEST_F(JobTableDevicesTest, AJobThatEndsLetsAnotherThreadStartTheNext) {
  const std::string all = Submit("3");
  const std::string next = Submit("3");
  Start(all);
  std::thread starter([&] { Start(next); });
  Complete(all);
  starter.join();
  EXPECT_EQ(JobOf(next).state, JobState::kRunning);
}

TEST_F(JobTableDevicesTest, MoreThanTheServiceHasIsRefused) {
  EXPECT_THAT(
      table_->Submit({.spec = SpecFor("4")}),
      StatusIs(absl::StatusCode::kInvalidArgument,
               "devices: needs 4 devices, the service has 3: cpu:0 cpu:1 "
               "cpu:2; ask for fewer or start it with --devices"));
  const std::string id = Submit("3");
  Reopen({"cpu:0"});  // It waits for a service that has them.
  EXPECT_TRUE(NothingStarts());
  EXPECT_THAT(JobOf(id).waiting_for, HasSubstr("the service has 1: cpu:0"));
  const std::string small = Submit("cpu:0");
  EXPECT_THAT(Start(small), ElementsAre("cpu:0"));
  EXPECT_THAT(
      JobTable::Open(JobStore::Open(folder_ / "more.sqlite").value(),
                     folder_.path(), {.devices = Devs({"cpu:0-1", "cpu:1"})}),
      StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("--devices")));
}

TEST_F(JobTableDevicesTest, WhatWasInterruptedHasItsDevicesAgainBeforeOthers) {
  const std::string first = Submit("cpu:0");
  const std::string one = Submit("1");
  const std::string other = Submit("1");
  Start(first);
  ASSERT_THAT(Start(one), ElementsAre("cpu:1"));
  ASSERT_THAT(Start(other), ElementsAre("cpu:2"));
  Complete(first);
  const std::string high = Submit("1", {.options = {.priority = 9}});
  Reopen({"cpu:0", "cpu:1", "cpu:2"});
  EXPECT_THAT(table_->interrupted(), ElementsAre(one, other));
  // Daemons may still work for both, though neither has started again.
  Reopen({"cpu:0", "cpu:1", "cpu:2"});
  EXPECT_THAT(table_->interrupted(), ElementsAre(one, other));
  // One by one, not what comes first by number.
  EXPECT_THAT(Start(one), ElementsAre("cpu:1"));
  EXPECT_THAT(Start(other), ElementsAre("cpu:2"));
  EXPECT_THAT(Start(high), ElementsAre("cpu:0"));
  // Also where the service has others by now.
  Reopen({"cpu:4", "cpu:5", "cpu:6"});
  EXPECT_THAT(Start(high), ElementsAre("cpu:0"));
  EXPECT_THAT(Start(one), ElementsAre("cpu:1"));
  // What was preempted goes on where there is room.
  table_->dispatcher().Park(one, PreemptionCause::kPriority);
  EXPECT_THAT(JobOf(one).devices, IsEmpty());
  EXPECT_THAT(Start(other), ElementsAre("cpu:2"));
  EXPECT_THAT(Start(one), ElementsAre("cpu:4"));
}

TEST_F(JobTableDevicesTest, SuspectsArePreparedOneAfterTheOther) {
  const std::string one = Submit("1");
  const std::string other = Submit("1");
  for (int i = 0; i < 2; ++i)
    table_->dispatcher().StartNext(DeadlineIn(kDevicesWait));
  Reopen({"cpu:0", "cpu:1", "cpu:2"});  // The service died meanwhile.
  const std::string fresh = Submit("cpu:2");
  EXPECT_EQ(table_->dispatcher().StartNext(DeadlineIn(kDevicesWait))->id, one);
  // The other one waits; a job that is no suspect does not.
  EXPECT_EQ(table_->dispatcher().StartNext(DeadlineIn(kDevicesWait))->id,
            fresh);
  EXPECT_FALSE(table_->dispatcher().StartNext(Deadline::min()).has_value());
  EXPECT_THAT(JobOf(other).waiting_for, HasSubstr("held back"));
  table_->dispatcher().MarkRunning(one);
  EXPECT_EQ(table_->dispatcher().StartNext(Deadline::min())->id, other);
}

TEST_F(JobTableDevicesTest, OneThatWasInterruptedIsPausedByItsOwnStart) {
  const std::string one = Submit("1");
  const std::string other = Submit("1");
  Start(one);
  Start(other);
  Reopen({"cpu:0", "cpu:1", "cpu:2"});
  Start(one);
  // Its daemons may be at work beside those of the other.
  FGNN_ASSERT_OK(table_->Pause(other));
  EXPECT_EQ(table_->PauseAnswer(other), std::nullopt);
  EXPECT_THAT(Start(other), ElementsAre("cpu:1"));
  EXPECT_EQ(table_->dispatcher().PreemptCause(other), PreemptionCause::kPause);
  EXPECT_EQ(table_->dispatcher().PreemptCause(one), PreemptionCause::kNone);
  table_->dispatcher().Park(other, PreemptionCause::kPause);
  EXPECT_EQ(JobOf(other).state, JobState::kPaused);
  EXPECT_EQ(table_->counts().running, 1U);
  EXPECT_EQ(table_->counts().paused, 1U);
}

TEST_F(JobTableDevicesTest, OnlyThoseInTheWayArePreempted) {
  const std::string low = Submit("cpu:0", {.options = {.priority = -2}});
  const std::string lower = Submit("cpu:1", {.options = {.priority = -3}});
  Start(low);
  Start(lower);
  const std::string high = Submit("cpu:0 cpu:2");
  EXPECT_EQ(table_->dispatcher().PreemptCause(low), PreemptionCause::kPriority);
  EXPECT_EQ(table_->dispatcher().PreemptCause(lower), PreemptionCause::kNone);
  // It keeps on: the other one alone would not be enough.
  table_->dispatcher().KeepOn(low, absl::ResourceExhaustedError("disk full"));
  EXPECT_EQ(table_->dispatcher().PreemptCause(low), PreemptionCause::kNone);
  EXPECT_EQ(table_->dispatcher().PreemptCause(lower), PreemptionCause::kNone);
  const std::string any = Submit("1", {.options = {.priority = 1}});
  EXPECT_THAT(Start(any), ElementsAre("cpu:2"));
  const std::string more = Submit("1", {.options = {.priority = 1}});
  EXPECT_EQ(table_->dispatcher().PreemptCause(lower),
            PreemptionCause::kPriority);
  table_->dispatcher().Park(lower, PreemptionCause::kPriority);
  EXPECT_EQ(JobOf(lower).preemptions, 1U);
  EXPECT_THAT(Start(more), ElementsAre("cpu:1"));
}

TEST_F(JobTableDevicesTest, EachIsPausedCancelledAndTriedAgainByItself) {
  const std::string one = Submit("1");
  const std::string two = Submit("1", {.options = {.retries = 1}});
  const std::string three = Submit("1");
  Start(one);
  Start(two);
  Start(three);
  FGNN_ASSERT_OK(table_->Pause(one));
  EXPECT_EQ(table_->dispatcher().PreemptCause(one), PreemptionCause::kPause);
  EXPECT_EQ(table_->dispatcher().PreemptCause(two), PreemptionCause::kNone);
  table_->dispatcher().Park(one, PreemptionCause::kPause);
  EXPECT_TRUE(
      table_->dispatcher().TryAgain(two, absl::UnavailableError("gone")));
  EXPECT_EQ(JobOf(two).state, JobState::kQueued);
  FGNN_ASSERT_OK(table_->Cancel(three, absl::CancelledError("by hand")));
  EXPECT_EQ(JobOf(three).state, JobState::kCancelling);
  FGNN_ASSERT_OK(table_->Continue(one));
  EXPECT_THAT(Start(one), ElementsAre("cpu:0"));
  table_->CancelRunning(absl::CancelledError("the end"));
  EXPECT_EQ(table_->dispatcher().CancelCause(one),
            absl::CancelledError("the end"));
  EXPECT_EQ(table_->dispatcher().CancelCause(three),
            absl::CancelledError("by hand"));
  EXPECT_EQ(table_->dispatcher().CancelCause(two), absl::OkStatus());
  EXPECT_EQ(table_->counts().running, 2U);
}

TEST_F(JobTableDevicesTest, AShareCountsEachDevice) {
  const std::string wide = Submit("2", {.user = "wide"});
  const std::string narrow = Submit("1", {.user = "narrow"});
  const std::string wide_next = Submit("3", {.user = "wide"});
  const std::string narrow_next = Submit("3", {.user = "narrow"});
  Start(wide);
  Start(narrow);
  Complete(wide);
  Complete(narrow);
  EXPECT_DOUBLE_EQ(JobOf(wide).device_seconds, 2 * JobOf(wide).run_seconds);
  Start(narrow_next);
  Complete(narrow_next);
  Start(wide_next);
}

// One with many jobs does not get all that is free at once.
TEST_F(JobTableDevicesTest, UsersStartInTurns) {
  const std::string first = Submit("1", {.user = "many"});
  const std::string second = Submit("1", {.user = "many"});
  const std::string third = Submit("1", {.user = "few"});
  Start(first);
  Start(third);
  Start(second);
}

TEST_F(JobTableDevicesTest, ATimeLimitLetsAShortJobGoBefore) {
  const std::string holder =
      Submit("1", {.options = {.time_limit_seconds = 1000}});
  Start(holder);
  const std::string all = Submit("3");
  const std::string longer =
      Submit("1", {.options = {.time_limit_seconds = 2000}});
  EXPECT_TRUE(NothingStarts());
  const std::string shorter =
      Submit("1", {.options = {.time_limit_seconds = 100}});
  EXPECT_THAT(Start(shorter), ElementsAre("cpu:1"));
  EXPECT_TRUE(NothingStarts());
  EXPECT_THAT(JobOf(all).waiting_for,
              HasSubstr("next; waits for 3 devices, 1 is free: cpu:0, which "
                        "job " +
                        holder + " has"));
}

TEST_F(JobTableDevicesTest, ASpecThatCannotBeReadCostsNoOtherJob) {
  const std::string torn = Submit("1");
  const std::string next = Submit("1");
  table_.reset();
  sqlite3* database = nullptr;
  ASSERT_EQ(sqlite3_open((folder_ / "jobs.sqlite").c_str(), &database),
            SQLITE_OK);
  EXPECT_EQ(sqlite3_exec(database,
                         "UPDATE jobs SET spec = x'ff' WHERE number = "
                         "(SELECT min(number) FROM jobs)",
                         nullptr, nullptr, nullptr),
            SQLITE_OK);
  sqlite3_close(database);
  Reopen({"cpu:0", "cpu:1"});
  EXPECT_EQ(JobOf(torn).spec, nullptr);
  EXPECT_THAT(Start(torn), ElementsAre("cpu:0", "cpu:1"));
  Complete(torn);  // The runner fails it.
  EXPECT_THAT(Start(next), ElementsAre("cpu:0"));
}

// A start took the job nearly nothing, so that seconds are left worth one.
TEST_F(JobTableDevicesTest, AJobGrowsToDevicesThatComeFreeWhereThatPays) {
  const std::string grows = Submit("1 to 3");
  ASSERT_THAT(Start(grows), ElementsAre("cpu:0", "cpu:1", "cpu:2"));
  const std::string named = Submit("cpu:0", {.options = {.priority = 1}});
  const std::string other = Submit("cpu:1 cpu:2", {.options = {.priority = 1}});
  table_->dispatcher().Park(grows, PreemptionCause::kPriority);
  Start(named);
  Start(other);
  Complete(named);
  ASSERT_THAT(Start(grows), ElementsAre("cpu:0"));
  const auto set_seconds_left = [&](double seconds) {
    table_->dispatcher().UpdateProgress(
        grows, [&](JobProgress& progress) { progress.seconds_left = seconds; });
  };
  set_seconds_left(1000);
  EXPECT_EQ(table_->dispatcher().PreemptCause(grows), PreemptionCause::kNone)
      << "nothing is free";
  Complete(other);
  EXPECT_EQ(table_->dispatcher().PreemptCause(grows), PreemptionCause::kGrow);
  set_seconds_left(1);
  EXPECT_EQ(table_->dispatcher().PreemptCause(grows), PreemptionCause::kNone)
      << "it is soon over";
  set_seconds_left(1000);
  const std::string waits = Submit("3");
  EXPECT_EQ(table_->dispatcher().PreemptCause(grows), PreemptionCause::kNone)
      << "they are reserved";
  ASSERT_TRUE(table_->Cancel(waits, absl::CancelledError("")).ok());
  EXPECT_EQ(table_->dispatcher().PreemptCause(grows), PreemptionCause::kGrow);
  table_->dispatcher().Park(grows, PreemptionCause::kGrow);
  EXPECT_EQ(JobOf(grows).preemptions, 1U) << "as before";
  EXPECT_TRUE(JobOf(grows).resume);
  EXPECT_THAT(Start(grows), ElementsAre("cpu:0", "cpu:1", "cpu:2"));
  set_seconds_left(1000);
  EXPECT_EQ(table_->dispatcher().PreemptCause(grows), PreemptionCause::kNone)
      << "it has its most";
}

// The first pause waits for the job's daemons. The second one finds that
// another job has the place of the daemons, and that nothing is to wait for.
TEST_F(JobTableDevicesTest, AnInterruptedJobCanBePausedTwice) {
  const std::string first = Submit("cpu:0");
  const std::string second = Submit("cpu:1");
  Start(first);
  Start(second);
  Reopen({"cpu:0"});
  FGNN_ASSERT_OK(table_->Pause(second));
  EXPECT_EQ(table_->PauseAnswer(second), std::nullopt);
  Start(first);
  FGNN_ASSERT_OK(table_->Pause(second));
  EXPECT_EQ(table_->PauseAnswer(second), absl::OkStatus());
  EXPECT_EQ(JobOf(second).state, JobState::kPaused);
}

}  // namespace
}  // namespace fgnn
