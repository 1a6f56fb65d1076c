// Submits together what threads submit at the same time, so that they share the
// one disk sync of a commit.
#ifndef FGNN_SCHEDULER_JOBS_SUBMISSION_GROUP_H_
#define FGNN_SCHEDULER_JOBS_SUBMISSION_GROUP_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "scheduler/store/job.h"
#include "shared/base/threads/mutex.h"

namespace fgnn {

struct JobRequest {
  std::shared_ptr<const JobSpec> spec = nullptr;  // As Job::spec.
  std::string run_dir = {};  // Absolute path; empty: <state dir>/runs/<job id>.
  std::string client_key = {};  // Key of the client's call; empty: none.
  SubmissionOptions options = {};
  bool resume = false;         // Whether to go on from a checkpoint of run_dir.
  bool changes_spec = false;   // Whether `resume` changes the run's spec.
  std::string user = {};       // Name of the user; empty: the job is nobody's.
  std::string file_user = {};  // Text of Job::file_user.
  // Whether the user may change all jobs, and has no limit of jobs.
  bool by_operator = false;
  // Ids of jobs, or unique prefixes of ids.
  std::vector<std::string> after = {};
};

// The owner of a run that is to be resumed, and what the run writes beside its
// metrics.
struct OwnerOfRun {
  std::string user = {};    // Name of the user; empty: the run is nobody's.
  std::string job_id = {};  // Id of the job; empty: not known to this service.
  std::string name = {};    // Name that the user gave the job; may be empty.
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
  mutable Mutex mutex_;
  CondVar submitted_;
  // Numbers of commits begun and done. A thread is in `submit_all` while they
  // differ.
  uint64_t num_begun_ ABSL_GUARDED_BY(mutex_) = 0;
  uint64_t num_done_ ABSL_GUARDED_BY(mutex_) = 0;
  // Submissions for the next commit.
  std::vector<Submission*> waiting_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace fgnn

#endif  // FGNN_SCHEDULER_JOBS_SUBMISSION_GROUP_H_
