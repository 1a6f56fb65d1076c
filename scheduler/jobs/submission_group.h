// Submits together what threads submit at the same time, so that they share the
// one disk sync of a commit.
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
  std::string spec_bytes = {};  // Bytes of the effective spec.
  std::string run_dir = {};  // Absolute path; empty: <state dir>/runs/<job id>.
  std::string client_key = {};  // Key of the client's call; empty: none.
  bool digest = false;
  bool trace = false;
  bool resume = false;  // Whether to go on from a checkpoint of run_dir.
  uint32_t epochs = 0;
  std::string dataset = {};
  std::string user = {};  // Name of the user; empty: the job is nobody's.
  std::string name = {};
  int32_t priority = 0;
  // Ids of jobs, or unique prefixes of ids.
  std::vector<std::string> after = {};
  uint32_t retries = 0;
  uint32_t time_limit_seconds = 0;  // Limit of seconds with devices; 0: none.
};

// The owner of a run that is to be resumed, and what the run writes beside its
// metrics.
struct OwnerOfRun {
  std::string user = {};    // Name of the user; empty: the run is nobody's.
  std::string job_id = {};  // Id of the job; empty: not known to this service.
  bool digest = false;
  bool trace = false;
};

// One submission, from its call to its answer.
struct Submission {
  const JobRequest* request = nullptr;
  // Owner by the run's folder itself, for a run that is to be resumed.
  OwnerOfRun on_disk = {};
  // Answer to the submission; nullopt: it is not done.
  std::optional<absl::StatusOr<Job>> job = std::nullopt;
  bool is_done = false;  // Whether `job` is set. Guarded by the group's mutex.
};

// Thread-safe.
class SubmissionGroup {
 public:
  // Submits `mine` with `submit_all`, together with the submissions of other
  // threads that wait by then. One thread at a time is in `submit_all`, which
  // answers all submissions and throws nothing. Returns the answer to `mine`.
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
  bool is_submitting_ = false;        // Whether a thread is in `submit_all`.
  std::vector<Submission*> waiting_;  // Submissions for the next commit.
};

}  // namespace fgnn

#endif  // FGNN_SCHEDULER_JOBS_SUBMISSION_GROUP_H_
