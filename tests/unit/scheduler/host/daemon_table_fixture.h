// The book of a host's daemons and the parts that write in it, for their tests.
// Its daemons are processes that sleep.
#ifndef FGNN_TESTS_UNIT_SCHEDULER_HOST_DAEMON_TABLE_FIXTURE_H_
#define FGNN_TESTS_UNIT_SCHEDULER_HOST_DAEMON_TABLE_FIXTURE_H_

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "scheduler/host/book/daemon_assignment.h"
#include "scheduler/host/book/daemon_devices.h"
#include "scheduler/host/book/daemon_table.h"
#include "scheduler/host/book/segment_members.h"
#include "shared/base/hash.h"
#include "tests/fakes/devices.h"
#include "tests/fakes/status_matchers.h"
#include "tests/fakes/temp_folder.h"

namespace fgnn {

inline const ExecutorPlacement kSampler{"sampler.0", ExecutorRole::kSampler,
                                        Dev("cpu:0")};
inline const ExecutorPlacement kTrainer{"trainer.0", ExecutorRole::kTrainer,
                                        Dev("cpu:0")};

inline DaemonRegistration RegistrationOf(const ExecutorPlacement& placement,
                                         const DaemonProcess& process) {
  DaemonRegistration registration;
  registration.name = placement.name;
  registration.role = NameOf(placement.role);
  registration.device = placement.device;
  registration.pid = process.pid();
  registration.start_time = process.start_time();
  return registration;
}

class DaemonTableTest : public testing::Test {
 protected:
  void SetUp() override { CreateSegment(/*num_devices=*/0); }

  void CreateSegment(uint32_t num_devices, uint64_t parts = 1) {
    SegmentOptions options;
    options.job_key = HashString("job");
    options.num_slots = 4;
    options.slot_bytes = 4096;
    options.batches_per_epoch = 4;
    options.epochs = 1;
    options.num_parameters = 1;
    options.num_devices = num_devices;
    options.parts = parts;
    options.num_messages = parts > 1 ? 2 : 0;
    options.message_bytes = parts > 1 ? 4096 : 0;
    options.switching = 1;
    FGNN_ASSERT_OK_AND_ASSIGN(segment_, JobSegment::Create("job", options));
  }

  // Ends what the test leaves alive.
  void TearDown() override {
    for (auto& [name, one] : table_.daemons()) {
      if (one.process.has_value()) End(one);
    }
  }

  // Makes them the job's, as DaemonHost does. Returns whom it stops.
  std::vector<DaemonAddress> Place(
      const std::string& job_id,
      const std::vector<ExecutorPlacement>& placements) {
    assignment_.AddJob(job_id, placements);
    const std::vector<JobExecutor> executors =
        assignment_.NameFor(job_id, placements);
    const std::vector<DaemonAddress> to_stop =
        assignment_.Dismiss(job_id, executors);
    EXPECT_THAT(
        assignment_.Want(job_id, executors, /*restarts=*/3, /*lost=*/{}, now_),
        IsOk());
    return to_stop;
  }

  DaemonProcess Spawn() const {
    return DaemonProcess::Spawn({.program = "/bin/sleep",
                                 .arguments = {"600"},
                                 .log = temp_ / "log"})
        .value();
  }

  // Gives a wanted daemon a process, as DaemonHost does.
  Daemon& Start(const std::string& name) {
    Daemon& started = daemon(name);
    started.restarts.due.reset();
    started.process = Spawn();
    return started;
  }

  absl::Status Register(const Daemon& from) {
    DaemonRegistration registration =
        RegistrationOf(from.placement, *from.process);
    registration.socket_path = "/run/" + from.placement.name;
    return table_.Register(registration, now_);
  }

  std::string End(Daemon& ended) {
    EXPECT_THAT(ended.process->Signal(SIGKILL), IsOk());
    EXPECT_TRUE(ended.process->WaitForEnd(DeadlineIn(std::chrono::hours(1))));
    return table_.Bury(ended, now_).how;
  }

  Daemon& daemon(const std::string& name) { return table_.daemons().at(name); }
  // The names of the job's attached daemons of a role.
  std::vector<std::string> NamesOf(ExecutorRole role) {
    std::vector<std::string> names;
    for (const DaemonAddress& found :
         members_.FindAll("job", role, /*attached=*/true)) {
      names.push_back(found.name);
    }
    return names;
  }

  const Deadline now_ = MonotonicClock::now();
  TempFolder temp_;
  std::unique_ptr<JobSegment> segment_;
  DaemonTable table_{/*spawn=*/true, HangLimits()};
  DaemonAssignment assignment_{&table_};
  SegmentMembers members_{&table_};
  DaemonDevices devices_{&table_};
};

}  // namespace fgnn

#endif  // FGNN_TESTS_UNIT_SCHEDULER_HOST_DAEMON_TABLE_FIXTURE_H_
