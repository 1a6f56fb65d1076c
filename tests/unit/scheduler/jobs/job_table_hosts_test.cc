// Jobs over several hosts in the table of jobs.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "scheduler/jobs/job_table.h"
#include "shared/base/clock.h"
#include "shared/base/threads/mutex.h"
#include "tests/fakes/default_job.h"
#include "tests/fakes/devices.h"
#include "tests/fakes/status_matchers.h"
#include "tests/fakes/temp_folder.h"

namespace fgnn {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr std::chrono::seconds kHostsWait{60};

class JobTableHostsTest : public testing::Test {
 protected:
  JobTableHostsTest() { Reopen(); }

  void Reopen() {
    table_.reset();
    table_ = JobTable::Open(JobStore::Open(folder_ / "jobs.sqlite").value(),
                            folder_.path(),
                            {.devices = Devs({"cpu:0"}),
                             .hosts =
                                 [this] {
                                   const MutexLock lock(&mutex_);
                                   return hosts_;
                                 }})
                 .value();
  }
  JobDispatcher& dispatcher() { return table_->dispatcher(); }
  void SetHosts(std::vector<ServiceHost> hosts) {
    const MutexLock lock(&mutex_);
    hosts_ = std::move(hosts);
  }
  std::string Submit(uint32_t min, uint32_t max,
                     const std::vector<std::string>& devices = {}) {
    JobSpec spec = *SharedJob();
    spec.training.batches_per_step = 4;
    spec.hosts = {.min = min, .max = max};
    spec.devices = Devs(devices);
    JobRequest request;
    request.spec = std::make_shared<const JobSpec>(std::move(spec));
    return table_->Submit(request).value().id;
  }
  // Returns the devices that the next job gets.
  std::vector<std::string> Start() {
    const auto job = dispatcher().StartNext(DeadlineIn(kHostsWait));
    if (!job.has_value()) return {};
    dispatcher().MarkRunning(job->id);
    return NamesOf(job->devices);
  }
  bool NothingStarts() {
    return !dispatcher().StartNext(Deadline::min()).has_value();
  }
  std::string ReasonOf(const std::string& id) {
    return table_->Get(id)->job.waiting_for;
  }

  TempFolder folder_;
  Mutex mutex_;
  std::vector<ServiceHost> hosts_;
  std::unique_ptr<JobTable> table_;
};

ServiceHost There(const std::string& name) {
  return {.name = name, .devices = Devs({"cpu:0"})};
}

TEST_F(JobTableHostsTest, AJobStartsOnceAHostHasJoined) {
  const std::string id = Submit(2, 3);
  EXPECT_TRUE(NothingStarts());
  EXPECT_THAT(ReasonOf(id), HasSubstr("needs 2 hosts, 1 is there"));
  SetHosts({There("h1")});  // Nobody tells the table of it.
  EXPECT_THAT(Start(), ElementsAre("cpu:0", "h1/cpu:0"));
}

TEST_F(JobTableHostsTest, AJobThatLostAHostWaitsForItAndGoesOnWithout) {
  SetHosts({There("h1")});
  const std::string id = Submit(1, 2);
  EXPECT_THAT(Start(), ElementsAre("cpu:0", "h1/cpu:0"));
  ServiceHost lost = There("h1");
  lost.silent_seconds = 6;
  SetHosts({lost});
  dispatcher().Park(id, PreemptionCause::kHostLost);
  EXPECT_TRUE(NothingStarts());
  EXPECT_THAT(ReasonOf(id), HasSubstr("host h1, lost 6 s ago"));
  lost.silent_seconds = kHasLeft;
  SetHosts({lost});
  EXPECT_THAT(Start(), ElementsAre("cpu:0"));
}

TEST_F(JobTableHostsTest, AJobGrowsWhenAHostJoinsIfItPays) {
  const std::string id = Submit(1, 2);
  EXPECT_THAT(Start(), ElementsAre("cpu:0"));
  SetHosts({There("h1")});
  const auto set_left = [&](double seconds) {
    dispatcher().UpdateProgress(
        id, [=](JobProgress& progress) { progress.seconds_left = seconds; });
  };
  set_left(1);
  EXPECT_EQ(dispatcher().PreemptCause(id), PreemptionCause::kNone);
  set_left(1'000);
  EXPECT_EQ(dispatcher().PreemptCause(id), PreemptionCause::kGrow);
  dispatcher().Park(id, PreemptionCause::kGrow);
  EXPECT_THAT(Start(), ElementsAre("cpu:0", "h1/cpu:0"));
}

TEST_F(JobTableHostsTest, AHostThatCannotTakePartIsLeftOutWhileEnoughAreLeft) {
  SetHosts({There("h1"), There("h2")});
  const std::string id = Submit(2, 3);
  EXPECT_THAT(Start(), ElementsAre("cpu:0", "h1/cpu:0", "h2/cpu:0"));
  EXPECT_TRUE(dispatcher().LeaveOut(id, "h1", "no dataset there"));
  dispatcher().Park(id, PreemptionCause::kHostLost);
  EXPECT_THAT(Start(), ElementsAre("cpu:0", "h2/cpu:0"));
  EXPECT_FALSE(dispatcher().LeaveOut(id, "h2", "no dataset there"));
  // A user who has mended it pauses the job, and lets it go on.
  EXPECT_THAT(table_->Pause(id), IsOk());
  dispatcher().Park(id, PreemptionCause::kPause);
  EXPECT_THAT(table_->Continue(id), IsOk());
  EXPECT_THAT(Start(), ElementsAre("cpu:0", "h1/cpu:0", "h2/cpu:0"));
}

TEST_F(JobTableHostsTest, AJobWithoutTheRowsOfALostHostWaitsForAnother) {
  SetHosts({There("h1")});
  const std::string id = Submit(1, 2);
  EXPECT_THAT(Start(), ElementsAre("cpu:0", "h1/cpu:0"));
  EXPECT_FALSE(dispatcher().NeedHosts(id, 3, "it may not have so many"));
  EXPECT_TRUE(dispatcher().NeedHosts(id, 2, "no host but h1 has the rows"));
  ServiceHost lost = There("h1");
  lost.silent_seconds = 6;
  SetHosts({lost});
  dispatcher().Park(id, PreemptionCause::kHostLost);
  for (const double silence : {6.0, kHasLeft}) {
    lost.silent_seconds = silence;
    SetHosts({lost});
    EXPECT_TRUE(NothingStarts());
    EXPECT_THAT(ReasonOf(id),
                HasSubstr("no host but h1 has the rows: needs 2 hosts, 1 is "
                          "there; start a scheduler there with --join"));
  }
  SetHosts({There("h1")});
  EXPECT_THAT(Start(), ElementsAre("cpu:0", "h1/cpu:0"));
}

// Its daemons may be at work on hosts that have yet to join the new service.
TEST_F(JobTableHostsTest, AnInterruptedJobStartsOnTheHostsThatItHad) {
  SetHosts({There("h1")});
  Submit(2, 0, {"cpu:0", "h1/cpu:0"});
  EXPECT_THAT(Start(), ElementsAre("cpu:0", "h1/cpu:0"));
  SetHosts({});
  Reopen();
  EXPECT_THAT(Start(), ElementsAre("cpu:0", "h1/cpu:0"));
}

// The host was there before the service started again, so it may come back.
TEST_F(JobTableHostsTest, AHostOfAQueuedJobIsWaitedForAfterARestart) {
  SetHosts({There("h1")});
  const std::string id = Submit(1, 0, {"cpu:0", "h1/cpu:0"});
  SetHosts({});
  Reopen();
  EXPECT_TRUE(NothingStarts());
  EXPECT_THAT(ReasonOf(id), HasSubstr("host h1, lost 0 s ago"));
}

}  // namespace
}  // namespace fgnn
