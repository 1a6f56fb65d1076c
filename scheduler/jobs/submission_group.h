// Submissions that come at once are submitted together, so that clients share
// the one sync that a commit costs.
#ifndef FGNN_SCHEDULER_JOBS_SUBMISSION_GROUP_H_
#define FGNN_SCHEDULER_JOBS_SUBMISSION_GROUP_H_

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "scheduler/store/job.h"

namespace fgnn {

struct JobRequest {
  std::string spec_bytes = {};  // Effective.
  std::string run_dir = {};     // Absolute; empty: <state dir>/runs/<job id>.
  std::string client_key = {};  // Empty: none.
  bool digest = false;
  bool trace = false;
  bool resume = false;  // Go on from a checkpoint of run_dir.
  uint32_t epochs = 0;
  std::string dataset = {};
  std::string user = {};  // Empty: nobody's.
  std::string name = {};
  int32_t priority = 0;
  std::vector<std::string> after = {};  // Ids, or unique prefixes of them.
  uint32_t retries = 0;
  uint32_t time_limit_seconds = 0;  // 0: none.
};

// Whose a run is that is to go on, and what it leaves beside its metrics.
struct OwnerOfRun {
  std::string user = {};    // Empty: nobody's.
  std::string job_id = {};  // Empty: not known to this service.
  bool digest = false;
  bool trace = false;
};

// A submission that is under way.
struct Submission {
  const JobRequest* request = nullptr;
  // What the folder of a run that is to go on says of itself.
  OwnerOfRun on_disk = {};
  // The answer, once the submission is done.
  std::optional<absl::StatusOr<Job>> job = std::nullopt;
  bool is_done = false;  // Guarded by the group's mutex.
};

// Thread-safe.
class SubmissionGroup {
 public:
  // Submits `mine` by `submit_all`, together with those of other threads that
  // have come by then. One thread at a time is in `submit_all`, which answers
  // all of them and throws nothing. Returns the answer to `mine`.
  absl::StatusOr<Job> Submit(
      Submission mine,
      absl::FunctionRef<void(const std::vector<Submission*>&)> submit_all);
  // Returns how many submissions wait for the next commit.
  size_t num_waiting() const;

 private:
  // Never held while the table's mutex is taken.
  mutable std::mutex mutex_;
  std::condition_variable submitted_;
  // Guarded by mutex_:
  bool is_submitting_ = false;        // A thread does, for others as well.
  std::vector<Submission*> waiting_;  // Submissions that wait for the next one.
};

}  // namespace fgnn

#endif  // FGNN_SCHEDULER_JOBS_SUBMISSION_GROUP_H_
