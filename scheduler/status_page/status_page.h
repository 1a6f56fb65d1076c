// The status page: what the service does, for browsers. Nothing that it serves
// changes anything.
#ifndef FGNN_SCHEDULER_STATUS_PAGE_STATUS_PAGE_H_
#define FGNN_SCHEDULER_STATUS_PAGE_STATUS_PAGE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "nlohmann/json.hpp"
#include "scheduler/host/daemon_host.h"
#include "scheduler/jobs/job_table.h"
#include "scheduler/members/member_table.h"
#include "scheduler/status_page/answer_cache.h"
#include "scheduler/status_page/service_history.h"
#include "scheduler/store/job.h"
#include "shared/base/threads/mutex.h"
#include "shared/base/threads/thread.h"
#include "shared/http/http_handler.h"

namespace fgnn {

struct StatusPageFacts {
  std::string version;
  std::string state_dir;
  int64_t started_ms = 0;  // Unix milliseconds of the service's start.
  std::vector<Device> devices;
  // Hosts of the service; borrowed. nullptr: no host may join.
  const MemberTable* members = nullptr;
};

// Thread-safe. A thread looks at the running jobs once a second. Answers are
// copied out of the table and the host before any JSON is made, and are the
// same for all viewers within a second.
class StatusPage {
 public:
  // Borrows `table` and `host`.
  StatusPage(StatusPageFacts facts, JobTable* table, DaemonHost* host);
  // The server of the handlers has to be gone before.
  ~StatusPage();
  StatusPage(const StatusPage&) = delete;
  StatusPage& operator=(const StatusPage&) = delete;

  // Returns the handlers, which borrow this object:
  //   /            the page, with a table of the jobs for browsers without
  //                script; beside it the files of the folder page/
  //   /api/status  what the service does now, and did in the last minutes
  //   /api/jobs    ?before=JOB: up to 50 jobs that have ended and were
  //   submitted
  //                before it, newest first
  //   /api/job     ?id=JOB: one job, its spec and its epochs
  // An error of /api is {"error": TEXT}, with status 400, 404 or 500.
  HttpHandlers Handlers();

 private:
  struct Now;

  // Looks at the running jobs once a second.
  void Record();
  void Remember(const Now& now);
  // Returns what the service does, with the first `most_waiting` queued jobs.
  Now Look(uint32_t most_waiting);
  absl::StatusOr<nlohmann::ordered_json> StatusNow();
  absl::StatusOr<nlohmann::ordered_json> JobsBefore(const std::string& job_id);
  absl::StatusOr<nlohmann::ordered_json> OneJob(const std::string& job_id);
  absl::StatusOr<std::string> Page();

  const StatusPageFacts facts_;
  JobTable* const table_;
  DaemonHost* const host_;
  AnswerCache answers_;
  // Answers about one job, whose files a user's slow disk may hold: other
  // viewers do not wait for them.
  AnswerCache job_answers_;
  Mutex mutex_;
  CondVar changed_;
  ServiceHistory history_ ABSL_GUARDED_BY(mutex_);
  bool ends_ ABSL_GUARDED_BY(mutex_) = false;
  Thread thread_;  // Declared last: it uses the above.
};

}  // namespace fgnn

#endif  // FGNN_SCHEDULER_STATUS_PAGE_STATUS_PAGE_H_
