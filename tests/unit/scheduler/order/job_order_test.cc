#include "scheduler/order/job_order.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "scheduler/order/user_shares.h"
#include "tests/fakes/devices.h"
#include "tests/fakes/status_matchers.h"

namespace fgnn {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

// A user who keeps the queue full cannot keep another one out, and both get
// the same of the devices though their jobs take different times.
TEST(JobOrderTest, UsersOfEqualPriorityShareTheDevices) {
  QueueSnapshot snapshot;
  UserShares shares;
  std::map<std::string, int> started;
  uint64_t number = 0;
  const std::map<std::string, double> seconds_each = {
      {"many", 1}, {"long", 4}, {"few", 2}};
  const auto submit = [&](const std::string& user) {
    snapshot.queued.push_back(
        {.id = absl::StrCat(++number), .user = user, .number = number});
  };
  for (int i = 0; i < 200; ++i) submit("many");
  for (int i = 0; i < 50; ++i) submit("long");
  for (int i = 0; i < 100; ++i) submit("few");
  for (int start = 0; start < 140; ++start) {
    snapshot.user_seconds = shares.seconds();
    const std::string first = OrderJobs(snapshot).starts.front().id;
    const auto next =
        std::find_if(snapshot.queued.begin(), snapshot.queued.end(),
                     [&](const QueuedJob& job) { return job.id == first; });
    ++started[next->user];
    shares.Charge(next->user, seconds_each.at(next->user), 1'000 * start);
    snapshot.queued.erase(next);
  }
  EXPECT_NEAR(started["many"], 80, 4);
  EXPECT_NEAR(started["few"], 40, 2);
  EXPECT_NEAR(started["long"], 20, 1);
}

WantedDevices Named(const std::vector<std::string>& names) {
  return {.named = MakeDeviceSet(Devs(names))};
}
WantedDevices Number(uint32_t min, uint32_t max = 0,
                     const std::string& kind = "any") {
  return {.kind = kind, .min = min, .max = std::max(min, max)};
}
QueueSnapshot ServiceOf(const std::vector<std::string>& devices) {
  return {.devices = MakeServiceDevices(Devs(devices)).value()};
}
RunningJob Running(const std::string& id,
                   const std::vector<std::string>& devices) {
  return {.id = id, .devices = MakeDeviceSet(Devs(devices))};
}

// "a:cpu:0,cpu:1 b:cpu:2"
std::string StartsOf(const QueueSnapshot& snapshot) {
  return absl::StrJoin(
      OrderJobs(snapshot).starts, " ",
      [](std::string* out, const JobStart& start) {
        absl::StrAppend(out, start.id, ":",
                        absl::StrJoin(NamesOf(start.devices.devices), ","));
      });
}
std::string ReasonOf(const QueueSnapshot& snapshot, const std::string& id) {
  const JobOrder order = OrderJobs(snapshot);
  for (const JobWait& wait : order.waits) {
    if (snapshot.queued[wait.job].id == id) {
      return ReasonOf(wait, order, snapshot);
    }
  }
  return "not queued";
}

TEST(JobOrderTest, JobsOnOtherCoresStartBesideEachOther) {
  QueueSnapshot snapshot = ServiceOf({"cpu:0", "cpu:1", "cpu:2"});
  snapshot.queued = {{.id = "a", .number = 1, .wanted = Named({"cpu:0-1"})},
                     {.id = "b", .number = 2, .wanted = Number(1)},
                     {.id = "c", .number = 3, .wanted = Named({"cpu:1"})},
                     {.id = "d", .number = 4, .wanted = Named({"cpu:3"})}};
  EXPECT_EQ(StartsOf(snapshot), "a:cpu:0-1 b:cpu:2 d:cpu:3");
  EXPECT_EQ(ReasonOf(snapshot, "b"), "starts next");
  EXPECT_EQ(ReasonOf(snapshot, "c"),
            "behind 2 jobs: 2 submitted before; waits for cpu:1, which job a "
            "starts on");
  // As many at once as the service has devices.
  snapshot.running = {Running("r", {"cpu:7"})};
  EXPECT_EQ(StartsOf(snapshot), "a:cpu:0-1 b:cpu:2");
  EXPECT_EQ(ReasonOf(snapshot, "d"),
            "behind 3 jobs: 3 submitted before; waits for one of jobs r, "
            "a, b to end: the service runs 3 at once");
}

TEST(JobOrderTest, ANumberTakesWhatIsFreeUpToItsMaximum) {
  QueueSnapshot snapshot = ServiceOf({"cpu:0", "cpu:1", "cpu:2", "cpu:3"});
  snapshot.running = {Running("r", {"cpu:1"})};
  snapshot.queued = {{.id = "a", .number = 1, .wanted = Number(1, 9)}};
  EXPECT_EQ(StartsOf(snapshot), "a:cpu:0,cpu:2,cpu:3");
  snapshot.queued.front().wanted.max = 2;
  EXPECT_EQ(StartsOf(snapshot), "a:cpu:0,cpu:2");
  // What waits before it has reserved cpu:0, so that it starts with less.
  snapshot.queued = {{.id = "w", .number = 0, .wanted = Named({"cpu:0-1"})},
                     {.id = "a", .number = 1, .wanted = Number(1, 9)}};
  EXPECT_EQ(StartsOf(snapshot), "a:cpu:2,cpu:3");
  snapshot.queued.back().wanted = Number(3);
  EXPECT_EQ(StartsOf(snapshot), "");
  EXPECT_EQ(ReasonOf(snapshot, "a"),
            "behind 1 job: 1 submitted before; waits for 3 devices, 2 are "
            "free: cpu:0, which is kept for job w; cpu:1, which job r has");
}

TEST(JobOrderTest, AServiceThatHasLessThanAskedForSaysSo) {
  QueueSnapshot snapshot = ServiceOf({"cpu:0", "cpu:1"});
  snapshot.queued = {{.id = "a", .number = 1, .wanted = Number(3, 3, "cpu")},
                     {.id = "b", .number = 2, .wanted = Named({"cpu:0"})}};
  EXPECT_EQ(StartsOf(snapshot), "b:cpu:0");  // It reserves nothing.
  EXPECT_EQ(ReasonOf(snapshot, "a"),
            "devices: needs 3 devices of kind cpu, the service has 2: cpu:0 "
            "cpu:1; ask for fewer or start it with --devices");
}

TEST(JobOrderTest, WhoWaitsIsNotStarvedByThoseBehindIt) {
  QueueSnapshot snapshot = ServiceOf({"cpu:0", "cpu:1"});
  snapshot.running = {Running("r", {"cpu:0"})};
  snapshot.queued = {{.id = "both", .number = 1, .wanted = Number(2)}};
  for (uint64_t i = 2; i < 100; ++i) {
    snapshot.queued.push_back(
        {.id = absl::StrCat(i), .number = i, .wanted = Number(1)});
  }
  EXPECT_EQ(StartsOf(snapshot), "");
  snapshot.running.clear();
  EXPECT_EQ(StartsOf(snapshot), "both:cpu:0,cpu:1");
}

TEST(JobOrderTest, AShortJobBorrowsWhatIsReservedIfItsLimitAllowsIt) {
  QueueSnapshot snapshot = ServiceOf({"cpu:0", "cpu:1"});
  snapshot.running = {Running("r", {"cpu:0"})};
  snapshot.queued = {
      {.id = "both", .number = 1, .wanted = Number(2)},
      {.id = "s", .number = 2, .wanted = Number(1), .most_seconds = 60}};
  EXPECT_EQ(StartsOf(snapshot), "");  // The one that runs promises nothing.
  snapshot.running[0].most_seconds = 60;
  EXPECT_EQ(StartsOf(snapshot), "s:cpu:1");
  snapshot.running[0].most_seconds = 59;
  EXPECT_EQ(StartsOf(snapshot), "");
  // A second one that waits for the same does not change that.
  snapshot.running[0].most_seconds = 60;
  snapshot.queued.insert(snapshot.queued.begin(),
                         {.id = "first", .wanted = Named({"cpu:0-1"})});
  EXPECT_EQ(StartsOf(snapshot), "s:cpu:1");
  // What is preempted leaves before its limit.
  snapshot.running[0].is_leaving = true;
  EXPECT_EQ(StartsOf(snapshot), "");
}

TEST(JobOrderTest,
     TheFewestArePreemptedAndOfThoseTheLeastImportantAndYoungest) {
  QueueSnapshot snapshot = ServiceOf({"cpu:0", "cpu:1", "cpu:2", "cpu:3"});
  snapshot.running = {Running("one", {"cpu:0"}), Running("two", {"cpu:1-2"}),
                      Running("old", {"cpu:3"})};
  snapshot.running[0].priority = -5;
  snapshot.running[2].priority = -5;
  snapshot.running[0].started = 3;
  snapshot.running[1].started = 2;
  snapshot.running[2].started = 1;
  const auto leave_for = [&](const WantedDevices& wanted, int32_t priority) {
    snapshot.queued = {{.id = "w", .priority = priority, .wanted = wanted}};
    return absl::StrJoin(OrderJobs(snapshot).preempted, " ");
  };
  EXPECT_EQ(leave_for(Number(1), 0), "one");
  EXPECT_EQ(leave_for(Number(2), 1), "two");
  EXPECT_EQ(leave_for(Number(2), 0), "one old");
  EXPECT_EQ(leave_for(Number(3), 1), "one two");
  EXPECT_EQ(leave_for(Number(3), 0), "");  // It would not be enough.
  EXPECT_EQ(leave_for(Named({"cpu:2-3"}), 1), "old two");
  EXPECT_EQ(leave_for(Named({"cpu:2-3"}), 0), "");
  EXPECT_EQ(leave_for(Number(1), -5), "");
  snapshot.running[0].can_be_preempted = false;
  EXPECT_EQ(leave_for(Number(1), 0), "old");
  EXPECT_EQ(ReasonOf(snapshot, "w"),
            "next; waits for 1 device, 0 are free: cpu:0, which job one has; "
            "cpu:1, which job two has; cpu:2, which job two has; and 1 more");
  // It leaves already: nobody else has to.
  snapshot.running[0].is_leaving = true;
  EXPECT_EQ(leave_for(Number(1), 0), "");
  EXPECT_EQ(leave_for(Named({"cpu:0", "cpu:3"}), 0), "old");
  EXPECT_EQ(ReasonOf(snapshot, "w"),
            "next; waits for cpu:0, which job one lets go of; cpu:3, which job "
            "old lets go of");
}

TEST(JobOrderTest, TwoThatWaitTakeNotTheSameDeviceTwice) {
  QueueSnapshot snapshot = ServiceOf({"cpu:0", "cpu:1", "cpu:2"});
  snapshot.running = {Running("r", {"cpu:0"}),
                      Running("s", {"cpu:1", "cpu:2"})};
  snapshot.running[1].started = 1;
  snapshot.queued = {
      {.id = "a", .priority = 1, .number = 1, .wanted = Number(1)},
      {.id = "b", .priority = 1, .number = 2, .wanted = Number(1)},
      {.id = "c", .priority = 1, .number = 3, .wanted = Number(1)}};
  // The younger one's two devices are for two of them.
  EXPECT_THAT(OrderJobs(snapshot).preempted, testing::ElementsAre("s", "r"));
}

// What would come free is kept for somebody else.
TEST(JobOrderTest, NobodyIsPreemptedInVain) {
  QueueSnapshot snapshot = ServiceOf({"cpu:0", "cpu:1"});
  snapshot.running = {Running("stays", {"cpu:0"}), Running("r", {"cpu:1"})};
  snapshot.running[0].can_be_preempted = false;
  snapshot.queued = {
      {.id = "both", .priority = 1, .number = 1, .wanted = Named({"cpu:0-1"})},
      {.id = "one", .priority = 1, .number = 2, .wanted = Number(1)}};
  EXPECT_THAT(OrderJobs(snapshot).preempted, testing::IsEmpty());
  snapshot.queued.erase(snapshot.queued.begin());
  EXPECT_THAT(OrderJobs(snapshot).preempted, testing::ElementsAre("r"));
}

TEST(JobOrderTest, ReasonsAreInWords) {
  QueueSnapshot snapshot = ServiceOf({"cpu:0"});
  snapshot.running = {Running("r", {"cpu:0"})};
  const WantedDevices all = Named({"cpu:0"});
  snapshot.queued = {
      {.id = "a", .user = "u", .priority = 5, .number = 1, .wanted = all},
      {.id = "b", .user = "u", .priority = 0, .number = 2, .wanted = all},
      {.id = "c", .user = "u", .priority = 0, .number = 3, .wanted = all},
      {.id = "d", .user = "u", .number = 4, .after = {"x", "y", "z", "zz"}},
      {.id = "e", .user = "u", .number = 5, .held_seconds = 3.2}};
  EXPECT_EQ(ReasonOf(snapshot, "a"),
            "next; waits for cpu:0, which job r lets go of");
  EXPECT_EQ(ReasonOf(snapshot, "b"),
            "behind 1 job: 1 of higher priority; waits for cpu:0, which job r "
            "lets go of");
  EXPECT_THAT(ReasonOf(snapshot, "c"),
              HasSubstr("behind 2 jobs: 1 of higher priority, 1 submitted "
                        "before; "));
  EXPECT_EQ(ReasonOf(snapshot, "d"), "waits for jobs x, y, z and 1 more");
  EXPECT_THAT(ReasonOf(snapshot, "e"), HasSubstr("for 4 s more"));
}

TEST(UserSharesTest, HalfIsForgottenEachDay) {
  constexpr int64_t kDayMs = 86'400'000;
  UserShares shares;
  shares.Charge("old", 100, 0);
  shares.Charge("new", 50, kDayMs);
  EXPECT_DOUBLE_EQ(shares.seconds().at("old"), shares.seconds().at("new"));
  // Years later numbers are still numbers.
  shares.Charge("new", 1, 5'000 * kDayMs);
  EXPECT_NEAR(shares.seconds().at("new"), 1, 1e-9);
  EXPECT_NEAR(shares.seconds().at("old"), 0, 1e-9);
}

TEST(JobOrderTest, FreeDevicesThatNobodyWaitsForGoToThoseThatGainByThem) {
  QueueSnapshot snapshot = ServiceOf({"cpu:0", "cpu:1", "cpu:2", "cpu:3"});
  RunningJob low = Running("low", {"cpu:0"});
  low.wanted = Number(1, 3);
  low.gains_by_more = true;
  RunningJob high = Running("high", {"cpu:1"});
  high.priority = 1;
  high.started = 1;
  high.wanted = Number(1, 2);
  high.gains_by_more = true;
  snapshot.running = {low, high};
  EXPECT_THAT(OrderJobs(snapshot).grow, ElementsAre("high", "low"));
  // One is left, and goes to the more important job.
  snapshot.queued = {{.id = "a", .wanted = Named({"cpu:2"})}};
  EXPECT_EQ(StartsOf(snapshot), "a:cpu:2");
  EXPECT_THAT(OrderJobs(snapshot).grow, ElementsAre("high"));
  EXPECT_TRUE(OrderJobs(snapshot).grows("high"));
  EXPECT_FALSE(OrderJobs(snapshot).grows("low"));
  // What is reserved is not free.
  snapshot.queued = {{.id = "a", .wanted = Named({"cpu:1", "cpu:3"})}};
  EXPECT_THAT(OrderJobs(snapshot).grow, ElementsAre("high"));
  snapshot.queued = {{.id = "a", .wanted = Number(4)}};
  EXPECT_THAT(OrderJobs(snapshot).grow, IsEmpty());
  // Who leaves does not grow, nor whom another start would not pay.
  snapshot.queued.clear();
  snapshot.running[0].is_leaving = true;
  snapshot.running[1].gains_by_more = false;
  EXPECT_THAT(OrderJobs(snapshot).grow, IsEmpty());
}

// A GPU device has one resource that no CPU device has, and cores for its
// threads, which a CPU device may have as well.
TEST(JobOrderTest, DevicesOfAnotherKindConflictByGpuAndByCores) {
  const Device cpu = {.name = "cpu:0", .cores = {0}};
  const Device gpu = {.name = "cuda:0", .kind = DeviceKind::kCuda};
  const Device gpu_with_core = {.name = "cuda:1+cpu:1",
                                .cores = {1},
                                .kind = DeviceKind::kCuda,
                                .index = 1};
  QueueSnapshot snapshot = {
      .devices =
          MakeServiceDevices(std::vector<Device>{cpu, gpu, gpu_with_core})
              .value()};
  // By kind: both GPUs, and a CPU job beside them.
  snapshot.queued = {{.id = "a", .number = 1, .wanted = Number(2, 2, "cuda")},
                     {.id = "b", .number = 2, .wanted = Number(1, 1, "cuda")},
                     {.id = "c", .number = 3, .wanted = Number(1)}};
  EXPECT_EQ(StartsOf(snapshot), "a:cuda:0,cuda:1+cpu:1 c:cpu:0");
  // A job that has core 1 is in the way of the GPU with that core alone.
  snapshot.running = {Running("r", {"cpu:1"})};
  snapshot.queued = {{.id = "a", .number = 1, .wanted = Number(1, 2, "cuda")}};
  EXPECT_EQ(StartsOf(snapshot), "a:cuda:0");
}

// A job by number may get one device, which has to train.
TEST(JobOrderTest, AJobOfAnyKindGetsDevicesThatTrain) {
  const std::vector<std::string> devices = {"cuda:0", "cpu:0"};
  QueueSnapshot snapshot = {.devices =
                                MakeServiceDevices(Devs(devices)).value()};
  snapshot.queued = {{.id = "a", .number = 1, .wanted = Number(1, 2)}};
  EXPECT_EQ(StartsOf(snapshot), "a:cpu:0");
  EXPECT_THAT(
      CheckCanHave(Number(2), snapshot.devices),
      StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("has 1: cpu:0")));
}

TEST(MakeServiceDevicesTest, RefusesTwoDevicesWithOneGpuOrCore) {
  const Device gpu = {.name = "cuda:3", .kind = DeviceKind::kCuda, .index = 3};
  const Device same_gpu = {.name = "cuda:3+cpu:0",
                           .cores = {0},
                           .kind = DeviceKind::kCuda,
                           .index = 3};
  EXPECT_THAT(MakeServiceDevices(std::vector<Device>{gpu, same_gpu}),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("cuda:3 and cuda:3+cpu:0 share GPU 3")));
  EXPECT_THAT(MakeServiceDevices(Devs({"cpu:0-2", "cpu:2"})),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("cpu:0-2 and cpu:2 share core 2")));
}

}  // namespace
}  // namespace fgnn
