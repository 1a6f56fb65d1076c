// A member's work: it reports to the head, and does what is ordered.
#ifndef FGNN_SCHEDULER_RUN_HOSTS_MEMBER_LOOP_H_
#define FGNN_SCHEDULER_RUN_HOSTS_MEMBER_LOOP_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "scheduler/members/member_messages.h"
#include "scheduler/planning/memory_ledger.h"
#include "scheduler/run/hosts/log_tail.h"
#include "scheduler/run/hosts/member_run.h"
#include "scheduler/run/run_context.h"
#include "shared/base/threads/mutex.h"
#include "shared/base/threads/thread.h"

namespace fgnn {

// Works from its construction to its destruction, on two threads. Thread-safe.
class MemberLoop {
 public:
  // Reports once, then starts the threads. A head that is not there yet is
  // waited for. Returns the head's refusal of this host.
  static absl::StatusOr<std::unique_ptr<MemberLoop>> Start(
      MemberFacts facts, HeadCall head, const JobEnvironment& environment);
  // Lets go of the job.
  ~MemberLoop();
  MemberLoop(const MemberLoop&) = delete;
  MemberLoop& operator=(const MemberLoop&) = delete;

 private:
  MemberLoop(MemberFacts facts, HeadCall head,
             const JobEnvironment& environment);
  // Reports, and takes the orders. Returns the head's error. For one thread.
  absl::Status ReportOnce();
  void ReportOften(bool is_there);
  void Work();
  // Runs the job to its end, or until it is ordered no more.
  void RunJob(const MemberJobOrder& order);
  absl::Status RunOrdered(const MemberJobOrder& order);
  // Returns the order of this attempt. Cancelled: it is ordered no more.
  absl::StatusOr<MemberJobOrder> OrderOf(uint64_t attempt) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Returns the same, and locks the mutex meanwhile.
  absl::StatusOr<MemberJobOrder> WorkOf(uint64_t attempt);
  // See AskOrder.
  absl::StatusOr<MemberJobOrder> AskOrderOf(uint64_t attempt);
  // Sets what the head is told of the job, but for its id and attempt.
  void Tell(const MemberJobOrder& order, MemberJobReport report);

  const MemberFacts facts_;
  const HeadCall head_;
  JobEnvironment environment_;
  MemoryLedger memory_;
  LogTail logs_;  // For the thread that reports.
  Mutex mutex_;
  CondVar changed_;  // Signals other orders, and the end.
  MemberOrders orders_ ABSL_GUARDED_BY(mutex_);
  std::optional<MemberJobReport> told_ ABSL_GUARDED_BY(mutex_);
  bool is_ending_ ABSL_GUARDED_BY(mutex_) = false;
  // Declared last, since they use the fields above.
  Thread works_;
  Thread reports_;
};

}  // namespace fgnn

#endif  // FGNN_SCHEDULER_RUN_HOSTS_MEMBER_LOOP_H_
