// Jobs on disk: a SQLite database in WAL mode that syncs each commit. So an
// acknowledged job is there after any crash.
#ifndef FGNN_SCHEDULER_STORE_JOB_STORE_H_
#define FGNN_SCHEDULER_STORE_JOB_STORE_H_

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "scheduler/store/job.h"
#include "scheduler/store/store_database.h"
#include "scheduler/store/store_statement.h"

namespace fgnn {

// Conditions on jobs; an empty field is no condition.
struct JobFilter {
  std::vector<JobState> states = {};
  std::string user = {};
  // Text in the id, the name, the dataset, the run folder or the error; the
  // case of ASCII letters does not matter.
  std::string search = {};
  std::string before_id = {};  // Id of a job; only jobs submitted before it.
};

// Device seconds of one job, for the account of its user.
struct JobUse {
  std::string user;
  double device_seconds = 0;
  // Unix time of its end, in milliseconds; 0: it has not ended.
  int64_t until_ms = 0;
};

// Not thread-safe: its owner holds a lock. The service's lock keeps other
// processes away from the file. The executors in a job's progress are not
// stored.
class JobStore {
 public:
  // Opens the file, and makes it if it is missing. DataLoss: the file is no job
  // store, is damaged, or is of another release.
  static absl::StatusOr<JobStore> Open(const std::filesystem::path& path);
  // Opens a second store of the same file, for reading only. It needs no lock
  // beside this one, and sees what this one has committed.
  absl::StatusOr<JobStore> OpenReader() const;
  JobStore(JobStore&&) noexcept = default;
  JobStore& operator=(JobStore&&) noexcept = default;

  // Counts a start of the service, and returns its number, from 1.
  absl::StatusOr<uint64_t> NextGeneration();

  // Writes between Begin() and Commit() are stored together or not at all, and
  // cost one sync. A Begin() without a Commit() needs a Rollback().
  absl::Status Begin();
  absl::Status Commit();
  void Rollback();
  bool InTransaction() const;
  // Merges the log into the file. Unavailable: a reader uses the file.
  absl::Status Checkpoint();

  // Adds a job. AlreadyExists: a job has the id or the client key.
  absl::Status Insert(const Job& job);
  // Stores state, times, devices, error and progress of a job that the store
  // has.
  absl::Status Update(const Job& job);
  // Deletes a job. NotFound: the store has no such job.
  absl::Status Delete(const std::string& id);

  // Returns at most `limit` jobs whose id begins with `prefix`, oldest first.
  absl::StatusOr<std::vector<Job>> FindByPrefix(const std::string& prefix,
                                                uint32_t limit);
  absl::StatusOr<std::optional<Job>> FindByClientKey(const std::string& key);
  // Returns the newest job that has had this folder as its own
  // (FolderUse::kOwn).
  absl::StatusOr<std::optional<Job>> FindByFolder(const std::string& run_dir);
  // Returns at most `limit` jobs that pass the filter, newest first. A damaged
  // row is shown as a job that failed with DataLoss.
  absl::StatusOr<std::vector<Job>> Find(const JobFilter& filter,
                                        uint32_t limit);
  // Returns the jobs that have not ended, in the order of submission. Damaged
  // rows are left out, with a warning in the log.
  absl::StatusOr<std::vector<Job>> Unfinished();
  // Returns the id of a job that has not ended and that has the run folder of
  // this one or is to run after it; nullopt: there is none.
  absl::StatusOr<std::optional<std::string>> FindDependent(const Job& job);
  // Returns the use of all jobs that have had devices and did not end before
  // `since_ms` (Unix milliseconds).
  absl::StatusOr<std::vector<JobUse>> UseSince(int64_t since_ms);

 private:
  explicit JobStore(StoreDatabase database) : database_(std::move(database)) {}
  absl::StatusOr<std::vector<Job>> ReadAll(StoreStatement& statement);

  StoreDatabase database_;
};

}  // namespace fgnn

#endif  // FGNN_SCHEDULER_STORE_JOB_STORE_H_
