// The lock of a run's folder: run.lock in it, which the job that has the folder
// keeps locked, and which other users can neither read nor lock. It ends with
// the process, and the file goes with it. A record in run.json says whose the
// folder is; it stays:
//
//   {"job_id": "20261121-101500-7f3a", "user": "ann", "digest": true,
//    "trace": false, "service": "/home/ann/.local/state/fgnn",
//    "seconds_before": 0, "pid": 4711}
//
// With training.seeds own, it also says by which shares the batches are made:
//
//   "seeds": "00c0ffee00c0ffee 1,1 0,0,0,…"
#ifndef FGNN_SCHEDULER_FILES_RUN_LOCK_H_
#define FGNN_SCHEDULER_FILES_RUN_LOCK_H_

#include <filesystem>
#include <optional>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "shared/base/files/guarded_path.h"
#include "shared/base/files/unique_fd.h"
#include "shared/graph/book/seed_shares.h"

namespace fgnn {

inline constexpr char kRunRecordName[] = "run.json";
// A service that was killed leaves it.
inline constexpr char kRunLockName[] = "run.lock";

// A record of the job that has a run's folder, or had it last.
struct RunRecord {
  std::string job_id = {};
  std::string user = {};  // Name of the user; empty: nobody.
  bool digest = false;
  bool trace = false;
  std::string service = {};  // State folder of the job's service.
  // Seconds that the run had taken before this job went on with it.
  double seconds_before = 0;
  // Shares that the run began with; without a book: training.seeds is global.
  SeedShares seeds = {};
};

// Returns the folder's record; nullopt: there is none that can be read.
std::optional<RunRecord> ReadRunRecord(const std::filesystem::path& run_dir);

// Returns the name of the user whose run the folder holds, by what is on disk.
// That is the user in the record, if a service of this process's user wrote it.
// Otherwise it is the owner of the folder, if that is another user than this
// process's. Empty: nobody.
std::string OwnerOnDisk(const std::filesystem::path& run_dir);

// Returns the path by which the store knows the folder: without links and "..",
// as far as it exists. Returns the path itself if that cannot be found out.
std::filesystem::path CanonicalRunDir(const std::filesystem::path& run_dir);

// Holds a run's folder until it is destroyed, against all jobs of all services,
// by whatever path they reach the folder. All that a run writes is written
// below folder().path(), so that no rename and no link leads it elsewhere. Not
// thread-safe.
class RunLock {
 public:
  // Locks the folder. FailedPrecondition: a job has the folder; the message
  // names it.
  static absl::StatusOr<RunLock> Take(HeldFolder folder);
  RunLock(RunLock&&) noexcept = default;
  RunLock& operator=(RunLock&& other) noexcept;
  ~RunLock() { Unlock(); }

  const HeldFolder& folder() const { return folder_; }
  // Replaces the folder's record; it is on disk once this returns OK.
  absl::Status Write(const RunRecord& record) const;

 private:
  explicit RunLock(HeldFolder folder) : folder_(std::move(folder)) {}
  // Tries once. False: the lock's file was removed meanwhile.
  absl::StatusOr<bool> TryLock();
  void Unlock();

  HeldFolder folder_;
  UniqueFd lock_;
  UniqueFd record_;
};

}  // namespace fgnn

#endif  // FGNN_SCHEDULER_FILES_RUN_LOCK_H_
