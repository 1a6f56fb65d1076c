// Who has a run's folder: run.json in it, which the job that has the folder
// keeps locked. The lock goes with its process, the words stay:
//
//   {"job_id": "20261121-101500-7f3a", "user": "ann", "digest": true,
//    "trace": false, "service": "/home/ann/.local/state/fgnn", "pid": 4711}
#ifndef FGNN_SCHEDULER_FILES_RUN_LOCK_H_
#define FGNN_SCHEDULER_FILES_RUN_LOCK_H_

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "shared/base/files/unique_fd.h"

namespace fgnn {

inline constexpr char kRunRecordName[] = "run.json";

// The job that has a run's folder, or had it last.
struct RunRecord {
  std::string job_id = {};
  std::string user = {};  // Empty: nobody's.
  bool digest = false;
  bool trace = false;
  std::string service = {};  // State folder of its service.
};

// nullopt: the folder has no record that can be read, as of a run of an earlier
// release.
std::optional<RunRecord> ReadRunRecord(const std::filesystem::path& run_dir);

// Whose run the folder holds by what is on disk: the user that its record
// names, if a service of this process's user wrote that; else the owner of the
// folder, if that is another user than this process's. Empty: nobody's.
std::string OwnerOnDisk(const std::filesystem::path& run_dir);

// The folder as it is known in the store, whatever leads to it: without links
// and "..", as far as it exists. The path itself where that cannot be told.
std::filesystem::path CanonicalRunDir(const std::filesystem::path& run_dir);

// Holds a run's folder until it is destroyed, against all jobs of all services,
// whatever they call the folder. Not thread-safe.
class RunLock {
 public:
  // FailedPrecondition, with who holds it: a job has the folder.
  static absl::StatusOr<RunLock> Take(const std::filesystem::path& run_dir);
  RunLock(RunLock&&) noexcept = default;
  RunLock& operator=(RunLock&& other) noexcept;
  ~RunLock() { Unlock(); }

  // Replaces the folder's record; on disk once this returns.
  absl::Status Write(const RunRecord& record) const;

 private:
  RunLock(UniqueFd fd, std::filesystem::path path)
      : fd_(std::move(fd)), path_(std::move(path)) {}
  void Unlock();

  UniqueFd fd_;
  std::filesystem::path path_;
};

}  // namespace fgnn

#endif  // FGNN_SCHEDULER_FILES_RUN_LOCK_H_
