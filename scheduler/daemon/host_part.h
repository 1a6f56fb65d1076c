// What a scheduler has of its own host, be it a head or a member: the daemons
// and their descriptors.
#ifndef FGNN_SCHEDULER_DAEMON_HOST_PART_H_
#define FGNN_SCHEDULER_DAEMON_HOST_PART_H_

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "scheduler/daemon/scheduler_options.h"
#include "scheduler/executors/executor_calls.h"
#include "scheduler/host/book/state_lock.h"
#include "scheduler/host/daemon_host.h"
#include "shared/base/threads/signal_waiter.h"
#include "shared/rpc/sockets/descriptors.h"

namespace fgnn {

// What an earlier scheduler of the state folder left.
struct EarlierStart {
  uint64_t generation = 0;  // Number of this start.
  std::vector<std::string> interrupted_jobs = {};
  bool expect_survivors = false;  // Whether one of these jobs goes on.
};

struct HostPart {
  // Starts both in a state folder that this process has locked. Borrows
  // `calls`. Ends daemons that an earlier service started and that no job goes
  // on with.
  static absl::StatusOr<HostPart> Start(const SchedulerOptions& options,
                                        const EarlierStart& earlier,
                                        ExecutorCalls* calls);

  std::unique_ptr<DaemonHost> host;
  std::unique_ptr<DescriptorServer> descriptors;
};

// Limit for the end of a scheduler; daemons that have to be killed take 8 s of
// it. Part of it is the time that calls under way have.
inline constexpr std::chrono::seconds kEndLimit{60};
inline constexpr std::chrono::milliseconds kServerGrace{2'000};

// Tells the service manager that this process lives, and keeps its log short,
// until `stop`, until the state folder is gone, or until `ends` returns true,
// which is asked five times a second.
void ServeUntil(const SignalWaiter& stop,
                const std::filesystem::path& state_dir, const StateLock& lock,
                absl::FunctionRef<bool()> ends);

// Ends all daemons, if the scheduler starts them, and removes what they left.
void EndDaemons(const SchedulerOptions& options, const StateLock& lock,
                DaemonHost& host);

// Returns OK if this process may open the descriptors that a service with
// these devices needs. `is_started`: it has opened its first ones.
absl::Status CheckServiceDescriptors(size_t num_devices, bool is_started);

}  // namespace fgnn

#endif  // FGNN_SCHEDULER_DAEMON_HOST_PART_H_
