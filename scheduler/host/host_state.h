// The state that the threads of a host share: its book, under one mutex, and
// the means to wake each other.
#ifndef FGNN_SCHEDULER_HOST_HOST_STATE_H_
#define FGNN_SCHEDULER_HOST_HOST_STATE_H_

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "scheduler/host/book/daemon_assignment.h"
#include "scheduler/host/book/daemon_devices.h"
#include "scheduler/host/book/daemon_table.h"
#include "scheduler/host/book/hang_watch.h"
#include "scheduler/host/book/segment_members.h"
#include "shared/base/files/unique_fd.h"
#include "shared/base/threads/mutex.h"

namespace fgnn {

struct DaemonHostOptions {
  std::filesystem::path state_dir;
  bool spawn = false;
  // Folder with fgnn-sampler and fgnn-trainer, which is the exchange too.
  std::filesystem::path program_dir;
  // Flags that every daemon is started with, beside those of its place.
  std::vector<std::string> daemon_flags = {};
  // Flags of the host's exchange beside those: --exchange.
  std::vector<std::string> exchange_flags = {};
  // Flags of the exchange and of trainers, which call other hosts: --tls-dir.
  std::vector<std::string> tls_flags = {};
  // Version of the program; daemons of another one are refused.
  std::string version;
  uint64_t generation = 0;  // Number of this start of the scheduler.
  // Ids of the jobs that an earlier scheduler left running. A daemon that
  // registers may still be attached to one.
  std::vector<std::string> interrupted_jobs;
  // Whether one of those jobs goes on. Its daemons will then register and
  // return its segment.
  bool expect_survivors = false;
  std::chrono::milliseconds heartbeat_interval{500};
  // Time within which a started daemon has to register; else it is killed.
  std::chrono::milliseconds register_within{60'000};
  std::string start_command;  // See HostTerms.
  HangLimits hang;            // Limits for missing heartbeats.
  // Limits for the work loop of a daemon with a job.
  HangLimits work_loop = kWorkLoopLimits;
};

// Faults since the scheduler started.
struct HostFaults {
  uint64_t died = 0;          // Deaths of daemons that were not asked to end.
  uint64_t hung = 0;          // Daemons that were killed because they hung.
  uint64_t devices_lost = 0;  // Devices that jobs went on without.
  uint64_t quarantined = 0;   // Batches that crashed daemons again and again.
  uint64_t sampler_restarts = 0;
  uint64_t trainer_restarts = 0;
  uint64_t exchange_restarts = 0;
};

// Thread-safe.
struct HostState {
  static absl::StatusOr<std::unique_ptr<HostState>> Make(
      DaemonHostOptions options);
  HostState(const HostState&) = delete;
  HostState& operator=(const HostState&) = delete;

  // Wakes the watching thread.
  void Wake() const;
  // Fails the job. Only the first failure is kept; later ones are its
  // consequences.
  void FailJob(const std::string& job_id, const absl::Status& why)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex);
  // Kills a daemon, and notes why; it is started again as often as its restarts
  // allow. After that its job fails with the code of `failure`, which the
  // daemon reported; OK: with Internal. Does nothing if it was killed before.
  absl::Status Kill(Daemon& daemon, const std::string& why,
                    const absl::Status& failure = absl::OkStatus())
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex);

  const DaemonHostOptions options;
  const UniqueFd wake;  // An eventfd, for Wake().
  Mutex mutex;
  CondVar changed;
  DaemonTable table ABSL_GUARDED_BY(mutex);
  DaemonAssignment assignment ABSL_GUARDED_BY(mutex);
  SegmentMembers members ABSL_GUARDED_BY(mutex);
  DaemonDevices devices ABSL_GUARDED_BY(mutex);
  HostFaults faults ABSL_GUARDED_BY(mutex);
  // Segments that daemons returned, by job id.
  std::map<std::string, UniqueFd> returned ABSL_GUARDED_BY(mutex);
  // The newest shared tables that their trainers returned, by job id.
  std::map<std::string, UniqueFd> returned_tables ABSL_GUARDED_BY(mutex);

 private:
  HostState(DaemonHostOptions host_options, UniqueFd wake_fd);
};

}  // namespace fgnn

#endif  // FGNN_SCHEDULER_HOST_HOST_STATE_H_
