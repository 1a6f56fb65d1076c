#include "scheduler/files/run_folder.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <optional>
#include <system_error>

#include "absl/strings/str_cat.h"
#include "scheduler/files/access/user_path.h"
#include "scheduler/files/run_files.h"
#include "shared/base/files/file.h"
#include "shared/base/files/unique_fd.h"
#include "shared/base/status.h"

namespace fgnn {
namespace {

namespace fs = std::filesystem;

absl::Status ErrorOf(const std::error_code& error, const fs::path& path) {
  return ErrnoToStatus(error.value(), path.string());
}

// Syncs the file, and returns its length; 0: there is no file.
absl::StatusOr<uint64_t> SyncFile(const fs::path& path) {
  const absl::StatusOr<UniqueFd> fd = OpenPlainFile(path, O_WRONLY);
  if (absl::IsNotFound(fd.status())) return uint64_t{0};
  FGNN_RETURN_IF_ERROR(fd.status());
  struct stat file = {};
  if (::fsync(fd->get()) != 0 || ::fstat(fd->get(), &file) != 0) {
    return ErrnoToStatus(errno, path.string());
  }
  return static_cast<uint64_t>(file.st_size);
}

// Opens a file that has at least `bytes`; without a file, which has no bytes,
// the descriptor is not valid. DataLoss: the file is shorter.
absl::StatusOr<UniqueFd> OpenWith(const fs::path& path, uint64_t bytes) {
  absl::StatusOr<UniqueFd> fd = OpenPlainFile(path, O_WRONLY);
  struct stat file = {};
  if (absl::IsNotFound(fd.status())) {
    fd = UniqueFd();
  } else {
    FGNN_RETURN_IF_ERROR(fd.status());
    if (::fstat(fd->get(), &file) != 0) {
      return ErrnoToStatus(errno, path.string());
    }
  }
  const auto there = static_cast<uint64_t>(file.st_size);
  if (there >= bytes) return fd;
  return absl::DataLossError(absl::StrCat(path.string(), " has ", there,
                                          " bytes, but had ", bytes,
                                          " when the checkpoint was made"));
}

absl::Status CutFile(const fs::path& path, uint64_t bytes) {
  FGNN_ASSIGN_OR_RETURN(const UniqueFd fd, OpenWith(path, bytes));
  if (fd.valid() && ::ftruncate(fd.get(), static_cast<off_t>(bytes)) != 0) {
    return ErrnoToStatus(errno, path.string());
  }
  return absl::OkStatus();
}

// Makes a folder in the run's folder, and syncs its name: without it, the
// folder's files do not survive a power cut.
absl::Status MakeInside(const fs::path& path) {
  if (::mkdir(path.c_str(), 0777) == 0) return SyncFolder(path.parent_path());
  if (errno == EEXIST) return absl::OkStatus();
  return ErrnoToStatus(errno, absl::StrCat("make ", path.string()));
}

// Returns whether a job that was killed before it had written job.yaml may have
// left the entry.
bool IsOfRunThatNeverBegan(const fs::directory_entry& entry) {
  const std::string name = entry.path().filename().string();
  if (name == kRunRecordName || name == kRunLockName) return true;
  std::error_code error;
  const fs::file_status status = entry.symlink_status(error);
  if (error) return false;
  if (name == kCheckpointsName && fs::is_directory(status)) {
    return fs::is_empty(entry.path(), error) && !error;
  }
  return fs::is_regular_file(status) && IsTemporaryName(name) &&
         name.starts_with(kJobYamlName);
}

// Returns an error if the folder, or a parent, was replaced by a link since the
// submission. The link may lead to a run whose owner was not checked.
absl::Status CheckIsItself(const fs::path& path) {
  const fs::path now = CanonicalRunDir(path);
  if (now == path) return absl::OkStatus();
  return absl::FailedPreconditionError(
      absl::StrCat("run_dir ", path.string(), " leads to ", now.string(),
                   " by now; resume that folder, or submit the job with it"));
}

// Locks the folder, if it is still the one that was submitted.
absl::StatusOr<RunLock> TakeItself(const fs::path& path) {
  FGNN_RETURN_IF_ERROR(CheckIsItself(path));
  return RunLock::Take(path);
}

// Returns OK if no folder above the path is a run's. A folder of that run's
// checkpoints could pass as one of them.
absl::Status CheckIsInNoRun(const fs::path& path) {
  const fs::path real = CanonicalRunDir(path);
  for (fs::path above = real.parent_path(); above.has_relative_path();
       above = above.parent_path()) {
    std::error_code error;
    if (fs::exists(fs::symlink_status(above / kRunRecordName, error))) {
      return absl::InvalidArgumentError(absl::StrCat(
          "run_dir ", path.string(), " is inside of ", above.string(),
          ", which is the folder of a run (", kRunRecordName,
          " is in it); name a folder outside of it"));
    }
  }
  return absl::OkStatus();
}

}  // namespace

// A run that never began cannot be resumed, since its folder has no job.yaml.
// So its folder counts as empty, and the job can be submitted again.
absl::StatusOr<bool> IsEmptyRunFolder(const fs::path& path) {
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(path, error)) {
    if (!IsOfRunThatNeverBegan(entry)) return false;
  }
  if (error) return ErrorOf(error, path);
  return true;
}

absl::Status CheckRunFolderIsFree(const fs::path& path) {
  if (!path.is_absolute()) {
    return absl::InvalidArgumentError(
        absl::StrCat("run_dir '", path.string(), "' is not an absolute path"));
  }
  FGNN_RETURN_IF_ERROR(CheckIsInNoRun(path));
  std::error_code error;
  const fs::file_status status = fs::status(path, error);
  if (status.type() == fs::file_type::not_found) return absl::OkStatus();
  if (error) return ErrorOf(error, path);
  if (status.type() != fs::file_type::directory) {
    return absl::InvalidArgumentError(
        absl::StrCat("run_dir ", path.string(), " is not a folder"));
  }
  FGNN_ASSIGN_OR_RETURN(const bool empty, IsEmptyRunFolder(path));
  if (empty) return absl::OkStatus();
  return absl::AlreadyExistsError(
      absl::StrCat("run_dir ", path.string(),
                   " is not empty; name another one or remove it"));
}

double SecondsBefore(const fs::path& run_dir, const std::string& job_id) {
  const std::optional<RunRecord> record = ReadRunRecord(run_dir);
  const double recorded = record.has_value() ? record->seconds_before : 0;
  // The summary of this job itself has its own seconds too.
  if (record.has_value() && record->job_id == job_id) return recorded;
  const absl::StatusOr<std::string> text =
      ReadSmallFile(run_dir / kSummaryName);
  if (!text.ok()) return recorded;
  return SecondsInSummary(*text).value_or(recorded);
}

std::optional<CompletedRun> ReadCompletedRun(const fs::path& run_dir) {
  const absl::StatusOr<std::string> text =
      ReadSmallFile(run_dir / kSummaryName);
  if (!text.ok()) return std::nullopt;
  return ParseCompletedRun(*text);
}

bool HasCheckpointOf(const fs::path& run_dir, uint32_t epochs_done) {
  std::error_code error;
  return fs::exists(
      CheckpointFolder(run_dir / kCheckpointsName).OfEpoch(epochs_done), error);
}

RunFolder::RunFolder(fs::path path, RunLock lock)
    : path_(std::move(path)),
      metrics_(path_ / kMetricsName),
      digests_(path_ / kDigestsName),
      checkpoints_(path_ / kCheckpointsName),
      lock_(std::move(lock)) {}

// The folder is checked twice: before it is locked, so that nothing is left in
// another user's folder, and after that, when the answer stays true.
absl::StatusOr<RunFolder> RunFolder::Create(
    const fs::path& path, const std::string& job_yaml, const RunRecord& record,
    absl::FunctionRef<absl::Status()> claim, const FileUser& user) {
  FGNN_RETURN_IF_ERROR(CheckIsItself(path));
  FGNN_RETURN_IF_ERROR(CheckRunFolderIsFree(path));
  FGNN_RETURN_IF_ERROR(MakeFolderAs(user, path));
  FGNN_ASSIGN_OR_RETURN(RunLock lock, TakeItself(path));
  FGNN_RETURN_IF_ERROR(CheckRunFolderIsFree(path));
  FGNN_RETURN_IF_ERROR(claim());
  RunFolder folder(path, std::move(lock));
  FGNN_RETURN_IF_ERROR(folder.GoOn(job_yaml, record));
  return folder;
}

absl::StatusOr<RunFolder> RunFolder::Keep(const fs::path& path,
                                          const RunRecord& record) {
  FGNN_ASSIGN_OR_RETURN(RunLock lock, TakeItself(path));
  FGNN_RETURN_IF_ERROR(lock.Write(record));
  return RunFolder(path, std::move(lock));
}

absl::StatusOr<RunFolder> RunFolder::Reopen(const fs::path& path,
                                            const FileUser& user) {
  FGNN_RETURN_IF_ERROR(CheckIsItself(path));
  // The earlier run may have ended before it had made the folder.
  FGNN_RETURN_IF_ERROR(MakeFolderAs(user, path));
  FGNN_ASSIGN_OR_RETURN(RunLock lock, TakeItself(path));
  RunFolder folder(path, std::move(lock));
  FGNN_RETURN_IF_ERROR(MakeInside(folder.checkpoints_.path()));
  FGNN_RETURN_IF_ERROR(folder.checkpoints_.Check());
  return folder;
}

absl::Status RunFolder::GoOn(const std::string& job_yaml,
                             const RunRecord& record) const {
  FGNN_RETURN_IF_ERROR(lock_.Write(record));
  FGNN_RETURN_IF_ERROR(MakeInside(checkpoints_.path()));
  // The summary is removed only after the checks, so that a refused folder
  // keeps it.
  FGNN_RETURN_IF_ERROR(checkpoints_.Check());
  std::error_code error;
  fs::remove(path_ / kSummaryName, error);
  if (error) return ErrorOf(error, path_);
  FGNN_RETURN_IF_ERROR(RemoveLeftovers());
  return WriteFileAtomically(path_ / kJobYamlName, job_yaml);
}

bool RunFolder::has_begun() const {
  std::error_code error;
  return fs::exists(path_ / kJobYamlName, error);
}

absl::Status RunFolder::AppendMetrics(std::string_view lines) {
  metrics_.Add(lines);
  return Flush();
}

absl::Status RunFolder::AppendDigests(std::string_view lines) {
  digests_.Add(lines);
  return Flush();
}

absl::Status RunFolder::Flush() {
  absl::Status flushed = metrics_.Write();
  flushed.Update(digests_.Write());
  return flushed;
}

absl::StatusOr<uint64_t> RunFolder::ReadMetrics(
    absl::FunctionRef<void(const Scores&)> add) const {
  return fgnn::ReadMetrics(path_, add);
}

absl::StatusOr<Scores> RunFolder::ScoresOf(uint32_t epoch) const {
  Scores found;
  uint32_t line = 0;
  FGNN_RETURN_IF_ERROR(ReadMetrics([&](const Scores& scores) {
                         if (line++ == epoch) found = scores;
                       }).status());
  return found;
}

absl::StatusOr<RunFolder::Lengths> RunFolder::Sync() const {
  Lengths lengths;
  FGNN_ASSIGN_OR_RETURN(lengths.metrics_bytes, SyncFile(path_ / kMetricsName));
  FGNN_ASSIGN_OR_RETURN(lengths.digests_bytes, SyncFile(path_ / kDigestsName));
  return lengths;
}

absl::Status RunFolder::CheckHas(const Lengths& lengths) const {
  FGNN_RETURN_IF_ERROR(
      OpenWith(path_ / kMetricsName, lengths.metrics_bytes).status());
  return OpenWith(path_ / kDigestsName, lengths.digests_bytes).status();
}

absl::Status RunFolder::TruncateTo(const Lengths& lengths) const {
  FGNN_RETURN_IF_ERROR(CutFile(path_ / kMetricsName, lengths.metrics_bytes));
  return CutFile(path_ / kDigestsName, lengths.digests_bytes);
}

absl::Status RunFolder::PruneCheckpoints(uint32_t keep) const {
  FGNN_RETURN_IF_ERROR(checkpoints_.Prune(keep));
  return RemoveLeftovers();
}

absl::Status RunFolder::RemoveLeftovers() const {
  FGNN_RETURN_IF_ERROR(checkpoints_.RemoveLeftovers());
  for (const char* name : kReplacedFiles) {
    FGNN_RETURN_IF_ERROR(RemoveTemporariesOf(path_ / name));
  }
  return absl::OkStatus();
}

absl::Status RunFolder::WriteSummary(const RunSummary& summary) const {
  return WriteFileAtomically(path_ / kSummaryName, SummaryToJson(summary));
}

}  // namespace fgnn
