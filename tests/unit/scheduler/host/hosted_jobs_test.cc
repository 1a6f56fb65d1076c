// Several jobs that have daemons at once: what is one's is not the other's.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "scheduler/host/daemon_host.h"
#include "scheduler/host/job_executors.h"
#include "shared/base/hash.h"
#include "shared/queue/segment_layout.h"
#include "tests/fakes/status_matchers.h"
#include "tests/fakes/temp_folder.h"

namespace fgnn {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr std::chrono::seconds kLong{60};

// Daemons that are stopped end, and answer when they are attached; nothing else
// is asked of them here.
class StoppingCalls final : public ExecutorCalls {
 public:
  absl::Status Stop(const std::string&, const Patience&) override {
    return absl::UnavailableError("it listens nowhere");
  }
  absl::Status Attach(const std::string&, const AttachCall&,
                      const Patience&) override {
    return absl::OkStatus();
  }
  absl::Status Detach(const std::string&, const std::string&,
                      const Patience&) override {
    return absl::UnimplementedError("");
  }
  absl::StatusOr<SamplingProfile> ProfileSampling(const std::string&,
                                                  const std::string&, uint32_t,
                                                  const Patience&) override {
    return absl::UnimplementedError("");
  }
  absl::Status CountInputNodes(const std::string&, const CountCall&,
                               const Patience&) override {
    return absl::UnimplementedError("");
  }
  absl::Status WriteCounts(const std::string&, const std::string&,
                           const std::filesystem::path&,
                           const Patience&) override {
    return absl::UnimplementedError("");
  }
  absl::StatusOr<RankedVertices> RankVertices(const std::string&,
                                              const RankCall&,
                                              const Patience&) override {
    return absl::UnimplementedError("");
  }
  absl::StatusOr<TrainingProfile> ProfileTraining(const std::string&,
                                                  const std::string&,
                                                  const std::vector<HopSize>&,
                                                  const Patience&) override {
    return absl::UnimplementedError("");
  }
  absl::StatusOr<Evaluation> Evaluate(const std::string&, const EvaluateCall&,
                                      const Patience&) override {
    return absl::UnimplementedError("");
  }
  absl::Status SaveCheckpoint(const std::string&, const SaveCheckpointCall&,
                              const Patience&) override {
    return absl::UnimplementedError("");
  }
  absl::StatusOr<CheckpointProfile> DescribeCheckpoint(
      const std::string&, const std::filesystem::path&,
      const Patience&) override {
    return absl::UnimplementedError("");
  }
  absl::Status LoadCheckpoint(const std::string&, const std::string&,
                              const std::filesystem::path&,
                              const Patience&) override {
    return absl::UnimplementedError("");
  }
};

std::unique_ptr<JobSegment> SegmentOf(const std::string& job_id,
                                      uint32_t num_devices = 1) {
  SegmentOptions options;
  options.job_key = HashString(job_id);
  options.num_slots = 4;
  options.slot_bytes = 4096;
  options.batches_per_epoch = 4;
  options.epochs = 1;
  options.num_parameters = 1;
  options.num_devices = num_devices;
  options.switching = 1;
  return JobSegment::Create(job_id, options).value();
}

// Daemons are processes that sleep, and that never say anything.
class HostedJobsTest : public testing::Test {
 protected:
  void StartHost(bool spawn) {
    DaemonHostOptions options;
    options.register_within = register_within_;
    options.state_dir = temp_.path();
    options.spawn = spawn;
    options.version = "test";
    options.hang.late_after = std::chrono::hours(1);
    options.program_dir = temp_ / "bin";
    std::filesystem::create_directories(temp_ / "logs");
    std::filesystem::create_directories(options.program_dir);
    for (const char* role : {"sampler", "trainer"}) {
      const auto program = options.program_dir / (std::string("fgnn-") + role);
      std::ofstream(program) << "#!/bin/sh\nexec sleep 600\n";
      std::filesystem::permissions(program, std::filesystem::perms::owner_all);
    }
    host_ = DaemonHost::Start(std::move(options), &calls_).value();
  }

  // As a service manager would.
  void Run(const std::string& name, const std::string& device) {
    processes_[name] = DaemonProcess::Spawn({.program = "/bin/sleep",
                                             .arguments = {"600"},
                                             .log = temp_ / "log"})
                           .value();
    EXPECT_THAT(Register(name, device, *processes_[name]), IsOk());
  }
  absl::Status Register(const std::string& name, const std::string& device,
                        const DaemonProcess& process,
                        const std::string& job_id = "",
                        OwnerIndex owner = kNoOwner, uint32_t number = 0) {
    return host_->Register({.name = name,
                            .role = name.substr(0, 7),
                            .device = device,
                            .pid = process.pid(),
                            .start_time = process.start_time(),
                            .socket_path = "/run/" + name,
                            .version = "test",
                            .segment_layout_version = kSegmentLayoutVersion,
                            .job_id = job_id,
                            .owner = owner,
                            .number = number});
  }
  void Kill(const std::string& name) {
    DaemonProcess& process = *processes_.at(name);
    EXPECT_THAT(process.Signal(SIGKILL), IsOk());
    EXPECT_TRUE(
        host_->WaitUntilGone({name, process.pid(), ""}, DeadlineIn(kLong)));
  }
  void TearDown() override {
    host_.reset();
    for (auto& [name, process] : processes_) {
      process->Signal(SIGKILL).IgnoreError();
    }
  }

  absl::Status Want(const std::string& job_id, const std::string& device,
                    uint32_t restarts = 3) {
    return host_->Want(job_id, PairPerDevice({device}), restarts);
  }
  // Names of the job's daemons, each with "!" where none runs.
  std::vector<std::string> NamesOf(const std::string& job_id) {
    std::vector<std::string> names;
    for (const ExecutorView& view : host_->ExecutorsOf(job_id)) {
      names.push_back(view.placement.name + (view.pid == 0 ? "!" : ""));
    }
    return names;
  }
  void AttachAll(const std::string& job_id) {
    for (const std::string& name : host_->Attachable(job_id)) {
      FGNN_ASSERT_OK_AND_ASSIGN(const AttachTicket ticket,
                                host_->BeginAttach(job_id, name));
      EXPECT_EQ(ticket.number, 0U);
      host_->EndAttach(ticket);
    }
  }
  size_t NumAttached(const std::string& job_id) {
    return host_->AttachedDaemons(job_id).size();
  }

  TempFolder temp_;
  std::chrono::milliseconds register_within_ = kLong;
  StoppingCalls calls_;
  std::map<std::string, std::optional<DaemonProcess>> processes_;
  std::unique_ptr<DaemonHost> host_;
};

class TwoJobsTest : public HostedJobsTest {
 protected:
  void SetUp() override {
    StartHost(/*spawn=*/false);
    for (const char* name : {"sampler.0", "trainer.0"}) Run(name, "cpu:0");
    for (const char* name : {"sampler.1", "trainer.1"}) Run(name, "cpu:1");
    FGNN_ASSERT_OK(Want("a", "cpu:1"));
    FGNN_ASSERT_OK(Want("b", "cpu:0"));
    host_->OpenSegment(a_.get());
    host_->OpenSegment(b_.get());
    AttachAll("a");
    AttachAll("b");
  }
  void TearDown() override {
    host_->CloseSegment("a");
    host_->CloseSegment("b");
    HostedJobsTest::TearDown();
  }

  const std::unique_ptr<JobSegment> a_ = SegmentOf("a");
  const std::unique_ptr<JobSegment> b_ = SegmentOf("b");
};

TEST_F(TwoJobsTest, EachHasTheDaemonsOfItsDevice) {
  EXPECT_THAT(NamesOf("a"), ElementsAre("sampler.1", "trainer.1"));
  EXPECT_THAT(NamesOf("b"), ElementsAre("sampler.0", "trainer.0"));
  EXPECT_THAT(host_->RunningJobs(), ElementsAre("a", "b"));
  const auto found =
      host_->Find("a", ExecutorRole::kTrainer, /*attached=*/true);
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found.front().name, "trainer.1");
  EXPECT_EQ(host_->SegmentFor(found.front().pid, "a").value(), a_->fd());
  EXPECT_THAT(host_->SegmentFor(found.front().pid, "b"),
              StatusIs(absl::StatusCode::kPermissionDenied));
  EXPECT_THAT(host_->BeginAttach("b", "trainer.1"),
              StatusIs(absl::StatusCode::kNotFound));
  EXPECT_THAT(host_->SwitchDevice("b", "cpu:1", DevicePlan::kTrain),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("has cpu:0")));
  EXPECT_THAT(host_->SwitchDevice("a", "cpu:1", DevicePlan::kSample), IsOk());
  EXPECT_TRUE(a_->devices().IsByHand(0));
  EXPECT_FALSE(b_->devices().IsByHand(0));
}

TEST_F(TwoJobsTest, ADeathIsOfOneJob) {
  Kill("sampler.0");
  EXPECT_EQ(host_->restarts("a"), 0U);
  EXPECT_EQ(host_->restarts("b"), 1U);
  EXPECT_THAT(host_->Unregistered("a"), IsEmpty());
  EXPECT_THAT(host_->Unregistered("b"), ElementsAre("sampler.0 on cpu:0"));
  EXPECT_EQ(NumAttached("a"), 2U);
  EXPECT_EQ(NumAttached("b"), 1U);
  // Whoever comes for its device has its place, whatever its name is.
  Run("sampler.7", "cpu:0");
  EXPECT_THAT(NamesOf("b"), ElementsAre("sampler.7", "trainer.0"));
  EXPECT_THAT(host_->Attachable("b"), ElementsAre("sampler.7"));
  EXPECT_THAT(host_->Attachable("a"), IsEmpty());
}

TEST_F(TwoJobsTest, AFailureIsOfOneJob) {
  FGNN_ASSERT_OK(Want("b", "cpu:0", /*restarts=*/0));
  Kill("trainer.0");
  EXPECT_THAT(host_->Failure("b"),
              StatusIs(absl::StatusCode::kInternal,
                       HasSubstr("trainer.0 died 1 time")));
  EXPECT_THAT(host_->Failure("a"), IsOk());
  // A daemon speaks for the job that it belongs to.
  FGNN_ASSERT_OK(host_->Heartbeat({.name = "sampler.0",
                                   .pid = processes_["sampler.0"]->pid(),
                                   .job_id = "a",
                                   .failure = absl::DataLossError("mine")}));
  EXPECT_THAT(host_->Failure("a"), IsOk());
  FGNN_ASSERT_OK(host_->Heartbeat({.name = "sampler.1",
                                   .pid = processes_["sampler.1"]->pid(),
                                   .job_id = "a",
                                   .failure = absl::DataLossError("mine")}));
  EXPECT_THAT(host_->Failure("a"), StatusIs(absl::StatusCode::kDataLoss,
                                            HasSubstr("sampler.1: mine")));
}

TEST_F(TwoJobsTest, OneLeavesAndTheOtherStays) {
  for (const DaemonAddress& daemon : host_->AttachedDaemons("b")) {
    host_->EndDetach(daemon);
  }
  EXPECT_TRUE(host_->WaitUntilDetached("b", DeadlineIn(kLong)));
  host_->CloseSegment("b");
  host_->Leave("b");
  EXPECT_THAT(NamesOf("b"), IsEmpty());
  EXPECT_EQ(NumAttached("a"), 2U);
  EXPECT_THAT(host_->RunningJobs(), ElementsAre("a"));
  // They are there for whoever comes next.
  FGNN_ASSERT_OK(Want("c", "cpu:0"));
  EXPECT_THAT(NamesOf("c"), ElementsAre("sampler.0", "trainer.0"));
}

TEST_F(TwoJobsTest, MemoryIsMeasuredOfTheJobsOwnDaemons) {
  const uint64_t own = host_->MeasureMemory("nobody").anonymous_bytes;
  EXPECT_EQ(own, 0U);
  EXPECT_GT(host_->MeasureMemory("a").anonymous_bytes, 0U);
  for (const ExecutorView& view : host_->Executors()) {
    EXPECT_EQ(view.resident_bytes > 0, view.job_id == "a")
        << view.placement.name;
  }
}

// Two devices that take turns, whose daemons are not started again.
class TwoDevicesTest : public HostedJobsTest {
 protected:
  void StartJob(uint32_t restarts = 0) {
    const auto placements = PairPerDevice({"cpu:0", "cpu:1"});
    FGNN_ASSERT_OK(host_->Want("a", placements, restarts));
    host_->OpenSegment(a_.get());
    a_->devices().SetPlans({DevicePlan::kSample, DevicePlan::kTrain});
  }
  void TearDown() override {
    host_->CloseSegment("a");
    HostedJobsTest::TearDown();
  }
  // 0: none runs.
  pid_t PidOf(const std::string& name) {
    for (const ExecutorView& view : host_->ExecutorsOf("a")) {
      if (view.placement.name == name) return view.pid;
    }
    return 0;
  }
  pid_t WaitForPidOf(const std::string& name) {
    const Deadline deadline = DeadlineIn(kLong);
    while (PidOf(name) == 0 && MonotonicClock::now() < deadline) {
      host_->WaitUntilRegistered("a", DeadlineIn(std::chrono::milliseconds(5)));
    }
    return PidOf(name);
  }

  const std::unique_ptr<JobSegment> a_ = SegmentOf("a", /*num_devices=*/2);
};

TEST_F(TwoDevicesTest, AJobGoesOnWithoutALostOne) {
  StartHost(/*spawn=*/false);
  for (const char* name : {"sampler.0", "trainer.0"}) Run(name, "cpu:0");
  for (const char* name : {"sampler.1", "trainer.1"}) Run(name, "cpu:1");
  StartJob();
  for (const std::string& name : host_->Attachable("a")) {
    FGNN_ASSERT_OK_AND_ASSIGN(const AttachTicket ticket,
                              host_->BeginAttach("a", name));
    host_->EndAttach(ticket);
  }
  Kill("sampler.0");
  EXPECT_THAT(host_->Failure("a"), IsOk());
  EXPECT_THAT(a_->devices().plans(),
              ElementsAre(DevicePlan::kLost, DevicePlan::kSample));
  EXPECT_TRUE(host_->WaitUntilRegistered("a", MonotonicClock::now()));
  EXPECT_THAT(host_->Unregistered("a"), IsEmpty());
  const auto trainers =
      host_->Find("a", ExecutorRole::kTrainer, /*attached=*/true);
  ASSERT_EQ(trainers.size(), 1U);
  EXPECT_EQ(trainers.front().name, "trainer.1");
  // What becomes of the other daemon of the device is no matter.
  Kill("trainer.0");
  EXPECT_THAT(host_->Failure("a"), IsOk());
  EXPECT_EQ(host_->restarts("a"), 0U);
  // Of the last device it is.
  Kill("trainer.1");
  EXPECT_THAT(host_->Failure("a"),
              StatusIs(absl::StatusCode::kInternal,
                       HasSubstr("trainer.1 died 1 time in 10 minutes")));
  EXPECT_FALSE(a_->devices().IsLost(1));
}

TEST_F(TwoDevicesTest, AJobGoesOnWithoutOneWhoseDaemonsDoNotComeBack) {
  register_within_ = std::chrono::milliseconds(0);
  StartHost(/*spawn=*/false);
  for (const char* name : {"sampler.0", "trainer.0"}) Run(name, "cpu:0");
  for (const char* name : {"sampler.1", "trainer.1"}) Run(name, "cpu:1");
  JobExecutors executors(host_.get(), &calls_,
                         {.job_id = "a",
                          .spec_bytes = "",
                          .placements = PairPerDevice({"cpu:0", "cpu:1"}),
                          .restarts = 3},
                         [] { return absl::OkStatus(); });
  FGNN_ASSERT_OK(executors.Start());
  FGNN_ASSERT_OK(executors.OpenSegment(a_->options()));
  JobDevices& devices = executors.segment().devices();
  FGNN_ASSERT_OK(executors.Tick());
  EXPECT_EQ(NumAttached("a"), 4U);
  Kill("trainer.1");
  Kill("sampler.1");
  FGNN_ASSERT_OK(executors.Tick());
  EXPECT_THAT(devices.lost(), ElementsAre(1));
  EXPECT_EQ(devices.num_changes(), 1U);
  FGNN_ASSERT_OK(executors.Tick());
  // One that comes late stays out of it until the device is brought back.
  Run("trainer.1", "cpu:1");
  FGNN_ASSERT_OK(executors.Tick());
  EXPECT_EQ(NumAttached("a"), 2U);
  FGNN_ASSERT_OK(
      host_->SwitchDevice("a", "cpu:1", DevicePlan::kTrain).status());
  Run("sampler.1", "cpu:1");
  FGNN_ASSERT_OK(executors.Tick());
  EXPECT_EQ(NumAttached("a"), 4U);
  // Nothing comes of none.
  Kill("sampler.0");
  Kill("trainer.1");
  EXPECT_THAT(executors.Tick(), StatusIs(absl::StatusCode::kUnavailable,
                                         HasSubstr("did not register within")));
}

TEST_F(TwoDevicesTest, OfALostOneNeitherDaemonIsStartedAgain) {
  StartHost(/*spawn=*/false);
  for (const char* name : {"sampler.0", "trainer.0"}) Run(name, "cpu:0");
  for (const char* name : {"sampler.1", "trainer.1"}) Run(name, "cpu:1");
  StartJob(/*restarts=*/1);
  Kill("sampler.0");
  EXPECT_FALSE(a_->devices().IsLost(0));
  Run("sampler.0", "cpu:0");
  Kill("sampler.0");
  EXPECT_TRUE(a_->devices().IsLost(0));
  EXPECT_EQ(host_->restarts("a"), 1U);
  // This one has died once, but there is nothing to do for it.
  Kill("trainer.0");
  EXPECT_EQ(host_->restarts("a"), 1U);
  Kill("trainer.1");
  EXPECT_EQ(host_->restarts("a"), 2U);
}

TEST_F(TwoDevicesTest, DaemonsOfALostOneAreStartedOnceItIsBack) {
  StartHost(/*spawn=*/true);
  StartJob();
  const pid_t first = WaitForPidOf("sampler.0");
  ASSERT_NE(first, 0);
  host_->Kill({"sampler.0", first, ""}, "of the test");
  ASSERT_TRUE(
      host_->WaitUntilGone({"sampler.0", first, ""}, DeadlineIn(kLong)));
  EXPECT_TRUE(a_->devices().IsLost(0));
  EXPECT_EQ(PidOf("sampler.0"), 0);
  FGNN_ASSERT_OK_AND_ASSIGN(const DevicePlan plan,
                            host_->SwitchDevice("a", "cpu:0", std::nullopt));
  EXPECT_EQ(plan, DevicePlan::kSample);
  const pid_t second = WaitForPidOf("sampler.0");
  EXPECT_NE(second, 0);
  // And lost again, where nothing was mended.
  host_->Kill({"sampler.0", second, ""}, "of the test");
  ASSERT_TRUE(
      host_->WaitUntilGone({"sampler.0", second, ""}, DeadlineIn(kLong)));
  EXPECT_TRUE(a_->devices().IsLost(0));
  EXPECT_THAT(host_->Failure("a"), IsOk());
  host_->CloseSegment("a");
  host_->Leave("a");
  host_->StopAll();
}

TEST_F(HostedJobsTest, AServiceManagersDaemonsTakePlacesInAnyOrder) {
  StartHost(/*spawn=*/false);
  // The job is there first; sampler.0 is expected on its device.
  FGNN_ASSERT_OK(Want("a", "cpu:1"));
  EXPECT_THAT(host_->Unregistered("a"),
              ElementsAre("sampler.0 on cpu:1", "trainer.0 on cpu:1"));
  for (const char* name : {"sampler.0", "trainer.0"}) Run(name, "cpu:0");
  for (const char* name : {"sampler.1", "trainer.1"}) Run(name, "cpu:1");
  EXPECT_THAT(host_->Unregistered("a"), IsEmpty());
  EXPECT_THAT(NamesOf("a"), ElementsAre("sampler.1", "trainer.1"));
  EXPECT_THAT(NamesOf(""), ElementsAre("sampler.0", "trainer.0"));
}

TEST_F(HostedJobsTest, TwoInterruptedJobsAreTakenOverWithTheirDaemons) {
  StartHost(/*spawn=*/false);
  for (const char* name :
       {"sampler.2", "trainer.2", "sampler.5", "trainer.5"}) {
    processes_[name] = DaemonProcess::Spawn({.program = "/bin/sleep",
                                             .arguments = {"600"},
                                             .log = temp_ / "log"})
                           .value();
  }
  OwnerIndex owner = 0;
  for (const char* name : {"sampler.2", "trainer.2"}) {
    FGNN_ASSERT_OK(Register(name, "cpu:0", *processes_[name], "a", ++owner, 0));
  }
  for (const char* name : {"sampler.5", "trainer.5"}) {
    FGNN_ASSERT_OK(Register(name, "cpu:1", *processes_[name], "b", ++owner, 0));
  }
  const auto a = SegmentOf("a");
  const auto b = SegmentOf("b");
  FGNN_ASSERT_OK(Want("b", "cpu:1"));
  host_->TakeOverSegment(b.get());
  // Pairs that are kept do not get into the way of a job that is to come.
  FGNN_ASSERT_OK(host_->Keep(PairPerDevice({"cpu:0", "cpu:1", "cpu:2"})));
  FGNN_ASSERT_OK(Want("a", "cpu:0"));
  host_->TakeOverSegment(a.get());
  EXPECT_THAT(NamesOf("a"), ElementsAre("sampler.2", "trainer.2"));
  EXPECT_THAT(NamesOf("b"), ElementsAre("sampler.5", "trainer.5"));
  EXPECT_EQ(NumAttached("a"), 2U);
  EXPECT_EQ(NumAttached("b"), 2U);
  EXPECT_EQ(host_->SegmentFor(processes_["trainer.5"]->pid(), "b").value(),
            b->fd());
  EXPECT_EQ(a->devices().DeviceOf(1), 0U);
  EXPECT_EQ(a->devices().DeviceOf(3), std::nullopt);
  host_->CloseSegment("a");
  host_->CloseSegment("b");
}

TEST_F(HostedJobsTest, PairsAreKeptWhereNoJobIs) {
  StartHost(/*spawn=*/true);
  const auto kept = PairPerDevice({"cpu:0", "cpu:1"});
  FGNN_ASSERT_OK(host_->Keep(kept));
  EXPECT_EQ(host_->ExecutorsOf("").size(), 4U);
  FGNN_ASSERT_OK(Want("a", "cpu:1"));
  EXPECT_EQ(host_->ExecutorsOf("a").size(), 2U);
  EXPECT_EQ(host_->ExecutorsOf("a").front().placement.name, "sampler.1");
  EXPECT_EQ(host_->ExecutorsOf("").size(), 2U);
  FGNN_ASSERT_OK(host_->Keep(kept));
  EXPECT_EQ(host_->ExecutorsOf("a").size(), 2U);
  EXPECT_EQ(host_->ExecutorsOf("").size(), 2U);
  // In the way of the next one is what shares a core with it.
  FGNN_ASSERT_OK(Want("b", "cpu:0,2"));
  EXPECT_THAT(host_->ExecutorsOf(""), IsEmpty());
  EXPECT_EQ(host_->ExecutorsOf("b").front().placement.name, "sampler.0");
  EXPECT_EQ(host_->ExecutorsOf("a").size(), 2U);
  host_->Leave("b");
  host_->Leave("a");
  FGNN_ASSERT_OK(host_->Keep(kept));
  EXPECT_EQ(host_->ExecutorsOf("").size(), 4U);
  host_->StopAll();
  EXPECT_THAT(host_->Executors(), IsEmpty());
}

}  // namespace
}  // namespace fgnn
