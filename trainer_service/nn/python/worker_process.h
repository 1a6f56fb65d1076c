// The process of a worker: `python -m fgnn.worker`, in the user's environment.
#ifndef FGNN_TRAINER_SERVICE_NN_PYTHON_WORKER_PROCESS_H_
#define FGNN_TRAINER_SERVICE_NN_PYTHON_WORKER_PROCESS_H_

#include <sys/types.h>

#include <memory>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "shared/base/clock.h"
#include "shared/base/files/unique_fd.h"
#include "shared/base/threads/mutex.h"
#include "shared/base/threads/notification.h"
#include "shared/base/threads/thread.h"

namespace fgnn {

struct WorkerCommand {
  std::string python;  // Absolute path; empty: python3 of the PATH.
  std::string target;  // "/models/sage.py:Sage"
  int memory = -1;     // Descriptor of the memory that it shares. Borrowed.
};

// A running worker. What it prints goes into the log, line by line. It ends
// with this object, and with this process. Thread-safe.
class WorkerProcess {
 public:
  // NotFound: there is no such interpreter. Other errors: the system starts no
  // process.
  static absl::StatusOr<std::unique_ptr<WorkerProcess>> Start(
      const WorkerCommand& command);
  // Kills it.
  ~WorkerProcess();
  WorkerProcess(const WorkerProcess&) = delete;
  WorkerProcess& operator=(const WorkerProcess&) = delete;

  // Returns whether it has ended by the deadline, and all that it printed was
  // read.
  bool WaitForEnd(Deadline deadline) const {
    return ended_.WaitUntil(deadline);
  }
  // Whether it has ended by itself, and no signal has ended it.
  bool has_exited() const;
  // Ends it, and waits until it has ended.
  void Kill();
  // Returns how it ended, with the last line that it printed: "was ended by
  // signal 9, Killed", "ended with exit code 1: ModuleNotFoundError: …".
  std::string DescribeEnd() const;

 private:
  WorkerProcess() = default;

  // Starts the process and reads what it prints until its end, on one thread:
  // the kernel ends it with the thread that started it.
  void Run(const WorkerCommand& command);
  absl::Status Spawn(const WorkerCommand& command, int output);
  void ReadUntilEnd(int output);
  void TakeLine(std::string line);

  Notification started_;
  Notification ended_;
  mutable Mutex mutex_;
  absl::Status start_ ABSL_GUARDED_BY(mutex_);
  std::string last_line_ ABSL_GUARDED_BY(mutex_);
  int wait_status_ ABSL_GUARDED_BY(mutex_) = 0;
  int num_lines_ = 0;
  pid_t pid_ = 0;
  UniqueFd process_;  // A pidfd.
  Thread thread_;     // Last: it uses the fields above.
};

}  // namespace fgnn

#endif  // FGNN_TRAINER_SERVICE_NN_PYTHON_WORKER_PROCESS_H_
