#include "scheduler/files/run_folder.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <optional>
#include <system_error>

#include "absl/strings/str_cat.h"
#include "scheduler/files/run_files.h"
#include "shared/base/files/file.h"
#include "shared/base/files/unique_fd.h"
#include "shared/base/status.h"

namespace fgnn {
namespace {

namespace fs = std::filesystem;

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

// Finds the folder. Returns an error if it, or a parent, was replaced by a link
// since the submission. The link may lead to a run whose owner was not checked.
absl::StatusOr<FoundPath> FindItself(const fs::path& path, FindFolder find) {
  FGNN_ASSIGN_OR_RETURN(FoundPath found, find(path));
  const fs::path now =
      found.missing.empty() ? found.name : found.name / found.missing;
  if (now == path) return found;
  return absl::FailedPreconditionError(
      absl::StrCat("run_dir ", path.string(), " leads to ", now.string(),
                   " by now; resume that folder, or submit the job with it"));
}

absl::StatusOr<FoundPath> FindOrMakeItself(const fs::path& path,
                                           FindFolder find) {
  return FindOrMakeFolder(
      path, [&](const fs::path& asked) { return FindItself(asked, find); });
}

absl::Status IsNoFolder(const fs::path& path) {
  return absl::InvalidArgumentError(
      absl::StrCat("run_dir ", path.string(), " is not a folder"));
}

// Returns what was found, under the name by which users know it.
absl::StatusOr<HeldFolder> HoldFound(const fs::path& path, FoundPath found) {
  if (!S_ISDIR(found.info.st_mode)) return IsNoFolder(path);
  return HeldFolder(path, std::move(found.place));
}

absl::StatusOr<RunLock> TakeFound(const fs::path& path, FoundPath found) {
  FGNN_ASSIGN_OR_RETURN(HeldFolder folder, HoldFound(path, std::move(found)));
  return RunLock::Take(std::move(folder));
}

absl::Status IsNotEmpty(const fs::path& path) {
  return absl::AlreadyExistsError(
      absl::StrCat("run_dir ", path.string(),
                   " is not empty; name another one or remove it"));
}

absl::Status CheckIsEmpty(const HeldFolder& folder) {
  const absl::StatusOr<bool> empty = IsEmptyRunFolder(folder.path());
  FGNN_RETURN_IF_ERROR(folder.Named(empty.status()));
  return *empty ? absl::OkStatus() : IsNotEmpty(folder.name());
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
  if (error) return StatusOf(error, path);
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
  if (error) return StatusOf(error, path);
  if (status.type() != fs::file_type::directory) return IsNoFolder(path);
  FGNN_ASSIGN_OR_RETURN(const bool empty, IsEmptyRunFolder(path));
  return empty ? absl::OkStatus() : IsNotEmpty(path);
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
      run_dir / kCheckpointsName / CheckpointAge{epochs_done, 0}.ToName(),
      error);
}

RunFolder::RunFolder(RunLock lock)
    : lock_(std::move(lock)),
      metrics_(kMetricsName),
      digests_(kDigestsName),
      checkpoints_(path() / kCheckpointsName, PlaceOf(kCheckpointsName)) {}

fs::path RunFolder::PlaceOf(const char* name) const {
  return held().path() / name;
}

// The folder is checked twice: before it is locked, so that nothing is left in
// the folder of another run, and after that, when the answer stays true.
absl::StatusOr<RunFolder> RunFolder::Create(
    const fs::path& path, const std::string& job_yaml, const RunRecord& record,
    absl::FunctionRef<absl::Status()> claim, FindFolder find) {
  FGNN_ASSIGN_OR_RETURN(FoundPath before, FindItself(path, find));
  FGNN_RETURN_IF_ERROR(CheckIsInNoRun(path));
  if (before.missing.empty()) {
    FGNN_ASSIGN_OR_RETURN(const HeldFolder folder,
                          HoldFound(path, std::move(before)));
    FGNN_RETURN_IF_ERROR(CheckIsEmpty(folder));
  }
  FGNN_ASSIGN_OR_RETURN(FoundPath found, FindOrMakeItself(path, find));
  FGNN_ASSIGN_OR_RETURN(RunLock lock, TakeFound(path, std::move(found)));
  FGNN_RETURN_IF_ERROR(CheckIsInNoRun(path));
  FGNN_RETURN_IF_ERROR(CheckIsEmpty(lock.folder()));
  FGNN_RETURN_IF_ERROR(claim());
  RunFolder folder(std::move(lock));
  FGNN_RETURN_IF_ERROR(folder.GoOn(job_yaml, record));
  return folder;
}

absl::StatusOr<RunFolder> RunFolder::Keep(const fs::path& path,
                                          const RunRecord& record,
                                          FindFolder find) {
  FGNN_ASSIGN_OR_RETURN(FoundPath found, FindItself(path, find));
  if (!found.missing.empty()) {
    return absl::NotFoundError(
        absl::StrCat("run_dir ", path.string(), " is not there"));
  }
  FGNN_ASSIGN_OR_RETURN(RunLock lock, TakeFound(path, std::move(found)));
  FGNN_RETURN_IF_ERROR(lock.Write(record));
  RunFolder folder(std::move(lock));
  folder.is_entered_ = true;
  return folder;
}

absl::StatusOr<RunFolder> RunFolder::Reopen(const fs::path& path,
                                            FindFolder find) {
  // The earlier run may have ended before it had made the folder.
  FGNN_ASSIGN_OR_RETURN(FoundPath found, FindOrMakeItself(path, find));
  FGNN_ASSIGN_OR_RETURN(RunLock lock, TakeFound(path, std::move(found)));
  RunFolder folder(std::move(lock));
  FGNN_RETURN_IF_ERROR(folder.held().Named(folder.checkpoints_.Make()));
  FGNN_RETURN_IF_ERROR(folder.checkpoints_.Hold().status());
  return folder;
}

absl::Status RunFolder::GoOn(const std::string& job_yaml,
                             const RunRecord& record) {
  is_entered_ = true;
  FGNN_RETURN_IF_ERROR(lock_.Write(record));
  FGNN_RETURN_IF_ERROR(held().Named(checkpoints_.Make()));
  // The summary is removed only after the checks, so that a refused folder
  // keeps it.
  FGNN_RETURN_IF_ERROR(checkpoints_.Hold().status());
  std::error_code error;
  fs::remove(PlaceOf(kSummaryName), error);
  if (error) return StatusOf(error, path());
  FGNN_RETURN_IF_ERROR(RemoveLeftovers());
  return held().Named(WriteFileAtomically(PlaceOf(kJobYamlName), job_yaml));
}

bool RunFolder::has_begun() const {
  std::error_code error;
  return fs::exists(PlaceOf(kJobYamlName), error);
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
  absl::Status flushed = metrics_.Write(held());
  flushed.Update(digests_.Write(held()));
  return flushed;
}

absl::StatusOr<uint64_t> RunFolder::ReadMetrics(
    absl::FunctionRef<void(const Scores&)> add) const {
  absl::StatusOr<uint64_t> bytes = fgnn::ReadMetrics(held().path(), add);
  if (bytes.ok()) return bytes;
  return held().Named(bytes.status());
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
  const absl::StatusOr<uint64_t> metrics = SyncFile(PlaceOf(kMetricsName));
  FGNN_RETURN_IF_ERROR(held().Named(metrics.status()));
  const absl::StatusOr<uint64_t> digests = SyncFile(PlaceOf(kDigestsName));
  FGNN_RETURN_IF_ERROR(held().Named(digests.status()));
  return Lengths{.metrics_bytes = *metrics, .digests_bytes = *digests};
}

absl::Status RunFolder::CheckHas(const Lengths& lengths) const {
  FGNN_RETURN_IF_ERROR(held().Named(
      OpenWith(PlaceOf(kMetricsName), lengths.metrics_bytes).status()));
  return held().Named(
      OpenWith(PlaceOf(kDigestsName), lengths.digests_bytes).status());
}

absl::Status RunFolder::TruncateTo(const Lengths& lengths) const {
  FGNN_RETURN_IF_ERROR(
      held().Named(CutFile(PlaceOf(kMetricsName), lengths.metrics_bytes)));
  return held().Named(CutFile(PlaceOf(kDigestsName), lengths.digests_bytes));
}

absl::Status RunFolder::PruneCheckpoints(uint32_t keep) const {
  FGNN_RETURN_IF_ERROR(checkpoints_.Prune(keep));
  return RemoveLeftovers();
}

absl::Status RunFolder::RemoveLeftovers() const {
  FGNN_RETURN_IF_ERROR(checkpoints_.RemoveLeftovers());
  for (const char* name : kReplacedFiles) {
    FGNN_RETURN_IF_ERROR(held().Named(RemoveTemporariesOf(PlaceOf(name))));
  }
  return absl::OkStatus();
}

absl::Status RunFolder::WriteSummary(const RunSummary& summary) const {
  return held().Named(
      WriteFileAtomically(PlaceOf(kSummaryName), SummaryToJson(summary)));
}

}  // namespace fgnn
