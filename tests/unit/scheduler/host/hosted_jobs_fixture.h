// A host whose daemons only sleep and answer no calls.
#ifndef FGNN_TESTS_UNIT_SCHEDULER_HOST_HOSTED_JOBS_FIXTURE_H_
#define FGNN_TESTS_UNIT_SCHEDULER_HOST_HOSTED_JOBS_FIXTURE_H_

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

#include "scheduler/executors/job_executors.h"
#include "scheduler/host/daemon_host.h"
#include "shared/base/hash.h"
#include "shared/queue/segment_layout.h"
#include "tests/fakes/devices.h"
#include "tests/fakes/status_matchers.h"
#include "tests/fakes/temp_folder.h"

namespace fgnn {

inline constexpr std::chrono::seconds kLong{60};

// Calls of daemons that end when they are stopped, and that answer when they
// are attached. The tests make no other calls.
class StoppingCalls : public ExecutorCalls {
 public:
  absl::Status Stop(const std::string&, const Patience&) override {
    return absl::UnavailableError("it listens nowhere");
  }
  absl::StatusOr<std::string> ReadMetrics(const std::string&,
                                          const Patience&) override {
    return absl::UnimplementedError("");
  }
  absl::Status Open(const std::string&, const OpenJobRequest&,
                    const Patience&) override {
    return absl::OkStatus();
  }
  absl::Status Attach(const std::string&, const AttachJobRequest&,
                      const Patience&) override {
    return absl::OkStatus();
  }
  absl::Status Detach(const std::string&, const std::string&,
                      const Patience&) override {
    return absl::UnimplementedError("");
  }
  absl::StatusOr<SamplingProfile> ProfileSampling(const std::string&,
                                                  const ProfileSamplingRequest&,
                                                  const Patience&) override {
    return absl::UnimplementedError("");
  }
  absl::StatusOr<ValidatedDataset> ValidateDataset(const std::string&,
                                                   const std::string&,
                                                   const Patience&) override {
    return absl::UnimplementedError("");
  }
  absl::Status CountInputNodes(const std::string&,
                               const CountInputNodesRequest&,
                               const Patience&) override {
    return absl::UnimplementedError("");
  }
  absl::Status WriteCounts(const std::string&, const std::string&,
                           const std::filesystem::path&,
                           const Patience&) override {
    return absl::UnimplementedError("");
  }
  absl::StatusOr<RankedVertices> RankVertices(const std::string&,
                                              const RankVerticesRequest&,
                                              const Patience&) override {
    return absl::UnimplementedError("");
  }
  absl::StatusOr<TrainingProfile> ProfileTraining(const std::string&,
                                                  const ProfileTrainingRequest&,
                                                  const Patience&) override {
    return absl::UnimplementedError("");
  }
  absl::StatusOr<Evaluation> Evaluate(const std::string&,
                                      const EvaluateRequest&,
                                      const Patience&) override {
    return absl::UnimplementedError("");
  }
  absl::Status SaveCheckpoint(const std::string&, const SaveCheckpointRequest&,
                              const Patience&) override {
    return absl::UnimplementedError("");
  }
  absl::StatusOr<CheckpointProfile> DescribeCheckpoint(
      const std::string&, const std::filesystem::path&,
      const Patience&) override {
    return absl::UnimplementedError("");
  }
  absl::StatusOr<std::string> LoadCheckpoint(const std::string&,
                                             const std::string&,
                                             const std::filesystem::path&,
                                             const Patience&) override {
    return absl::UnimplementedError("");
  }
  absl::Status TradeChunks(const std::string&, const std::string&, uint64_t,
                           const Patience&) override {
    return absl::UnimplementedError("");
  }
  absl::StatusOr<std::vector<HostReach>> ReadReach(const std::string&,
                                                   const std::string&,
                                                   const Patience&) override {
    return absl::UnimplementedError("");
  }
};

// A spec of which only the most restarts of a daemon count.
inline JobSpec WithRestarts(uint32_t restarts) {
  JobSpec spec;
  spec.limits.restarts = restarts;
  return spec;
}

inline std::unique_ptr<JobSegment> SegmentOf(const std::string& job_id,
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

// The daemons are processes that sleep and never call the scheduler.
class HostedJobsTest : public testing::Test {
 protected:
  void StartHost(bool spawn) {
    DaemonHostOptions options;
    options.spawn = spawn;
    StartHost(std::move(options));
  }
  void StartHost(DaemonHostOptions options) {
    options.register_within = register_within_;
    options.state_dir = temp_.path();
    options.version = "test";
    options.hang.late_after = std::chrono::hours(1);
    options.program_dir = temp_ / "bin";
    std::filesystem::create_directories(temp_ / "logs");
    std::filesystem::create_directories(options.program_dir);
    for (const char* role : {"sampler", "trainer"}) {
      const auto program = options.program_dir / (std::string("fgnn-") + role);
      std::ofstream(program) << "#!/bin/sh\necho \"$0 $*\"\nexec sleep 600\n";
      std::filesystem::permissions(program, std::filesystem::perms::owner_all);
    }
    host_ = DaemonHost::Start(std::move(options), &calls_).value();
  }

  // Starts and registers a daemon, as a service manager would.
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
                            .role = name.substr(0, name.find('.')),
                            .device = Dev(device),
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
    EXPECT_TRUE(Daemons("").WaitUntilGone({name, process.pid(), ""},
                                          DeadlineIn(kLong)));
  }
  void TearDown() override {
    jobs_.clear();
    host_.reset();
    for (auto& [name, process] : processes_) {
      process->Signal(SIGKILL).IgnoreError();
    }
  }

  absl::Status Want(const std::string& job_id, const std::string& device,
                    uint32_t restarts = 3) {
    return Daemons(job_id).Want(PairPerDevice({Dev(device)}), restarts,
                                /*lost=*/{});
  }
  // Returns the job's handle; an empty id: the handle of no job.
  JobDaemons& Daemons(const std::string& job_id) {
    std::unique_ptr<JobDaemons>& handle = jobs_[job_id];
    if (handle == nullptr) handle = host_->DaemonsOf(job_id);
    return *handle;
  }
  // Returns the names of the job's daemons, with "!" for a daemon that does not
  // run.
  std::vector<std::string> NamesOf(const std::string& job_id) {
    std::vector<std::string> names;
    for (const ExecutorView& view : Daemons(job_id).Views()) {
      names.push_back(view.placement.name + (view.pid == 0 ? "!" : ""));
    }
    return names;
  }
  void AttachAll(const std::string& job_id) {
    for (const std::string& name : Daemons(job_id).Attachable()) {
      FGNN_ASSERT_OK_AND_ASSIGN(const AttachTicket ticket,
                                Daemons(job_id).BeginAttach(name));
      EXPECT_EQ(ticket.number, 0U);
      Daemons(job_id).EndAttach(ticket);
    }
  }
  size_t NumAttached(const std::string& job_id) {
    return Daemons(job_id).Attached().size();
  }

  TempFolder temp_;
  std::chrono::milliseconds register_within_ = kLong;
  StoppingCalls calls_;
  std::map<std::string, std::optional<DaemonProcess>> processes_;
  std::unique_ptr<DaemonHost> host_;
  std::map<std::string, std::unique_ptr<JobDaemons>> jobs_;
};

}  // namespace fgnn

#endif  // FGNN_TESTS_UNIT_SCHEDULER_HOST_HOSTED_JOBS_FIXTURE_H_
