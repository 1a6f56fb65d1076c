// The common part of the main functions of fgnn-sampler and fgnn-trainer. The
// header needs neither gRPC nor protobuf.
#ifndef FGNN_SHARED_RPC_EXECUTOR_MAIN_H_
#define FGNN_SHARED_RPC_EXECUTOR_MAIN_H_

#include <string>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "shared/base/threads/signal_waiter.h"
#include "shared/command_line/command_line.h"
#include "shared/rpc/executor_daemon.h"

namespace fgnn {

struct ExecutorFlags {
  ExecutorDaemonOptions daemon;
  std::string device;  // Name of the daemon's device; empty: none was given.
  bool log_json = false;
};

// Adds the flags of a daemon; `flags` outlives the command line. `kind` is
// "sampler" or "trainer".
void AddExecutorFlags(const std::string& kind, Command app,
                      ExecutorFlags& flags);

// Starts a daemon and serves until `stop`.
using ExecutorServing = absl::FunctionRef<absl::Status(
    const ExecutorDaemonOptions& options, const SignalWaiter* stop)>;

// Names the daemon, opens its log, and calls `serve`. `kind` is "sampler",
// "trainer" or "exchange". Call it in main, before
// other threads start. Returns the program's exit code; see DaemonExitCode().
int RunExecutorMain(const std::string& kind, ExecutorFlags flags,
                    ExecutorServing serve);

}  // namespace fgnn

#endif  // FGNN_SHARED_RPC_EXECUTOR_MAIN_H_
