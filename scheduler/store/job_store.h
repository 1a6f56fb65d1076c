// Jobs on disk: a SQLite database in WAL mode that syncs each commit, so that
// a job that was acknowledged is there after any crash.
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

// Which jobs are looked for. What is empty does not matter.
struct JobFilter {
  std::vector<JobState> states = {};
  std::string user = {};
  // In the id, the name, the dataset, the run folder or the error; ASCII
  // letters of any case.
  std::string search = {};
  std::string before_id = {};  // Submitted before this job.
};

// What a user's job has had of the devices.
struct JobUse {
  std::string user;
  double device_seconds = 0;
  int64_t until_ms = 0;  // Unix milliseconds of its end; 0: it has not ended.
};

// Not thread-safe: its owner holds a lock. One process at a time: the service's
// lock sees to that. Executors of a job's progress are not kept.
class JobStore {
 public:
  // Makes the file where it is missing. DataLoss: it is no job store, it is
  // damaged, or it is of another release.
  static absl::StatusOr<JobStore> Open(const std::filesystem::path& path);
  // Another one of the same file, for reading alone: beside this one it needs
  // no lock, and sees what this one has committed.
  absl::StatusOr<JobStore> OpenReader() const;
  JobStore(JobStore&&) noexcept = default;
  JobStore& operator=(JobStore&&) noexcept = default;

  // Adds one to the number of starts and returns it, from 1.
  absl::StatusOr<uint64_t> NextGeneration();

  // What is written between Begin() and Commit() is there as a whole or not at
  // all, and costs one sync. A Begin() without a Commit() needs a Rollback().
  absl::Status Begin();
  absl::Status Commit();
  void Rollback();
  bool InTransaction() const;
  // All is in the one file from then on. Unavailable: somebody reads it.
  absl::Status Checkpoint();

  // AlreadyExists: the id or the client key is there.
  absl::Status Insert(const Job& job);
  // State, times, devices, error and progress of a job that is there.
  absl::Status Update(const Job& job);

  // All jobs whose id begins so, oldest first, at most `limit`.
  absl::StatusOr<std::vector<Job>> FindByPrefix(const std::string& prefix,
                                                uint32_t limit);
  absl::StatusOr<std::optional<Job>> FindByClientKey(const std::string& key);
  // The newest job that has had this folder: FolderUse::kOwn.
  absl::StatusOr<std::optional<Job>> FindByFolder(const std::string& run_dir);
  // Newest first. A damaged row is shown as a job that failed with DataLoss.
  absl::StatusOr<std::vector<Job>> Find(const JobFilter& filter,
                                        uint32_t limit);
  // Those that have not ended, in the order of their submission; damaged rows
  // are left out, with a warning in the log.
  absl::StatusOr<std::vector<Job>> Unfinished();
  // Of all jobs that have had devices and have not ended before this moment
  // (Unix milliseconds).
  absl::StatusOr<std::vector<JobUse>> UseSince(int64_t since_ms);

 private:
  explicit JobStore(StoreDatabase database) : database_(std::move(database)) {}
  absl::StatusOr<std::vector<Job>> ReadAll(StoreStatement& statement);

  StoreDatabase database_;
};

}  // namespace fgnn

#endif  // FGNN_SCHEDULER_STORE_JOB_STORE_H_
