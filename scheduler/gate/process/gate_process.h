// A gate: the process that reads the bytes of clients for this one
// (scheduler/gate). It is started again when it ends.
#ifndef FGNN_SCHEDULER_GATE_PROCESS_GATE_PROCESS_H_
#define FGNN_SCHEDULER_GATE_PROCESS_GATE_PROCESS_H_

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "scheduler/figures/refusal_counts.h"
#include "scheduler/gate/marks.h"
#include "scheduler/host/book/daemon_process.h"
#include "shared/base/clock.h"
#include "shared/base/files/unique_fd.h"
#include "shared/base/threads/mutex.h"
#include "shared/base/threads/thread.h"

namespace fgnn {

struct GateProcessOptions {
  std::filesystem::path program;
  std::vector<std::string> arguments = {};
  std::string name = {};  // What its clients connect to, for the log.
  // Called on a thread of the gate's when it has ended a connection of `key`.
  std::function<void(RefusalReason reason, const std::string& key,
                     const std::string& why)>
      on_refused;
  // Called there with the seconds since 1970 at which the certificate that it
  // uses expires. Empty: it has none.
  std::function<void(int64_t seconds)> on_expiry = nullptr;
  // Its clients speak in the clear. They are told why they are closed.
  bool is_in_the_clear = true;
  // Keys of clients whose connections are not counted.
  std::vector<std::string> trusted_keys = {};
};

// Thread-safe.
class GateProcess {
 public:
  // Starts the program, and waits until it is ready. NotFound: there is no such
  // program. Unavailable: it ended. Other errors are the program's own.
  static absl::StatusOr<std::unique_ptr<GateProcess>> Start(
      GateProcessOptions options);
  // Ends the process, and closes the connections of its clients.
  ~GateProcess();
  GateProcess(const GateProcess&) = delete;
  GateProcess& operator=(const GateProcess&) = delete;

  // Hands the connection of a client to the gate. Returns the connection on
  // which gRPC serves that client. `key` is the client's user or address. Waits
  // while the gate is started again. Unavailable: it is not there in time.
  // ResourceExhausted: the gate has just refused this client for its flood, or
  // it connects too often; the connection is closed.
  absl::StatusOr<UniqueFd> Pass(UniqueFd client, const std::string& key);

 private:
  struct Running {
    DaemonProcess process;
    UniqueFd control;  // This end of the pair of sockets.
  };

  GateProcess(GateProcessOptions options, UniqueFd stop, Running running);
  // Starts the program, and waits until it is ready.
  static absl::StatusOr<Running> Launch(const GateProcessOptions& options);
  // Reads what the gate reports until it ends, or this object does.
  void Run();
  void Read(absl::string_view report);
  // Notes that the gate refuses this client for a flood.
  void Shut(const std::string& key);
  // Counts a connection of this client. Returns why it is closed; empty: it is
  // not.
  absl::string_view Count(const std::string& key);
  // Reaps the process, which has ended, and starts it again.
  void StartAgain();
  // Waits for a report for at most that time. Returns true once this object
  // ends.
  bool HasToEnd(int control, int milliseconds) const;

  const GateProcessOptions options_;
  const UniqueFd stop_;  // An eventfd; signals that the thread must end.
  Mutex mutex_;
  CondVar is_back_;
  Running running_ ABSL_GUARDED_BY(mutex_);
  bool is_away_ ABSL_GUARDED_BY(mutex_) = false;  // Is being started again.
  // Until when this process closes a client's connections itself.
  std::map<std::string, Deadline> shut_ ABSL_GUARDED_BY(mutex_);
  Marks connects_ ABSL_GUARDED_BY(mutex_){/*most=*/1'000, /*per_second=*/250};
  Thread thread_;  // Last member: it uses those above.
};

}  // namespace fgnn

#endif  // FGNN_SCHEDULER_GATE_PROCESS_GATE_PROCESS_H_
