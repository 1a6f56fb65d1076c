#include "scheduler/jobs/run_folder.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "nlohmann/json.hpp"
#include "scheduler/jobs/run_timeline.h"
#include "shared/base/file.h"
#include "shared/base/file_lines.h"
#include "shared/base/guarded_path.h"
#include "shared/base/status.h"
#include "shared/base/unique_fd.h"
#include "shared/config/checkpoint_name.h"

namespace fgnn {
namespace {

namespace fs = std::filesystem;

constexpr char kJobYaml[] = "job.yaml";
constexpr char kSummary[] = "summary.json";
// In checkpoints/: the best checkpoint before it has its name.
constexpr char kNextBest[] = ".best.next";
constexpr char kMetrics[] = "metrics.jsonl";
constexpr char kDigests[] = "batches.crc";
// A line has about 1 KiB. The folder is the user's, whose file may be any.
constexpr size_t kMaxLineBytes = 1 << 20;

absl::Status ErrorOf(const std::error_code& error, const fs::path& path) {
  return ErrnoToStatus(error.value(), path.string());
}

std::optional<double> NumberOrNone(const nlohmann::json& value) {
  return value.is_number() ? std::optional(value.get<double>()) : std::nullopt;
}

// The file's length, once it is on disk; 0 where there is none.
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

absl::Status CutFile(const fs::path& path, uint64_t bytes) {
  const absl::StatusOr<UniqueFd> fd = OpenPlainFile(path, O_WRONLY);
  struct stat file = {};
  if (!absl::IsNotFound(fd.status())) {
    FGNN_RETURN_IF_ERROR(fd.status());
    if (::fstat(fd->get(), &file) != 0) {
      return ErrnoToStatus(errno, path.string());
    }
  }
  const auto there = static_cast<uint64_t>(file.st_size);
  if (there < bytes) {
    return absl::DataLossError(absl::StrCat(path.string(), " has ", there,
                                            " bytes, but had ", bytes,
                                            " when the checkpoint was made"));
  }
  if (there > bytes && ::ftruncate(fd->get(), static_cast<off_t>(bytes)) != 0) {
    return ErrnoToStatus(errno, path.string());
  }
  return absl::OkStatus();
}

// Makes a folder and those above it. What is in it outlives a power cut only if
// its own entry does.
absl::Status MakeFolder(const fs::path& path) {
  if (::mkdir(path.c_str(), 0777) != 0) {
    const int error = errno;
    if (error == EEXIST) return absl::OkStatus();
    if (error != ENOENT || !path.has_relative_path()) {
      return ErrnoToStatus(error, absl::StrCat("make ", path.string()));
    }
    FGNN_RETURN_IF_ERROR(MakeFolder(path.parent_path()));
    if (::mkdir(path.c_str(), 0777) != 0 && errno != EEXIST) {
      return ErrnoToStatus(errno, absl::StrCat("make ", path.string()));
    }
  }
  const absl::Status synced = SyncFolder(path.parent_path());
  // A parent that may be written to, but not read, cannot be synced.
  return absl::IsPermissionDenied(synced) ? absl::OkStatus() : synced;
}

// The record alone may be of a job that was killed before it had the folder.
absl::StatusOr<bool> IsEmptyRunFolder(const fs::path& path) {
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(path, error)) {
    if (entry.path().filename() != kRunRecordName) return false;
  }
  if (error) return ErrorOf(error, path);
  return true;
}

// Whether a file in checkpoints/ was left by a writer. Others are the user's.
bool IsLeftover(const std::string& name) {
  return name == kNextBest || ((absl::StartsWith(name, "epoch-") ||
                                absl::StartsWith(name, "best.")) &&
                               IsTemporaryName(name));
}

absl::Status RemoveTemporaries(const fs::path& checkpoints) {
  std::error_code error;
  std::vector<fs::path> found;
  for (const auto& entry : fs::directory_iterator(checkpoints, error)) {
    const std::string name = entry.path().filename().string();
    // A folder in a checkpoint's place was moved aside for somebody to look at.
    if (IsLeftover(name) && fs::is_regular_file(entry.symlink_status(error))) {
      found.push_back(entry.path());
    }
  }
  for (const fs::path& path : found) {
    if (!error) fs::remove(path, error);
  }
  return error ? ErrorOf(error, checkpoints) : absl::OkStatus();
}

// Scores by the line of this epoch.
absl::StatusOr<RunFolder::EpochScores> ParseMetricsLine(std::string_view text,
                                                        uint32_t epoch) {
  const auto line = nlohmann::json::parse(text, nullptr,
                                          /*allow_exceptions=*/false);
  const auto at = [&](const char* name) {
    return line.is_object() ? line.value(name, nlohmann::json())
                            : nlohmann::json();
  };
  const nlohmann::json mrr = at("valid_mrr");
  const nlohmann::json accuracy = mrr.is_null() ? at("valid_accuracy") : mrr;
  const nlohmann::json macro_f1 = at("valid_macro_f1");
  if (at("epoch") != epoch || !(accuracy.is_null() || accuracy.is_number()) ||
      !(macro_f1.is_null() || macro_f1.is_number())) {
    return absl::DataLossError(absl::StrCat("is not of epoch ", epoch));
  }
  return RunFolder::EpochScores{.valid_accuracy = NumberOrNone(accuracy),
                                .valid_macro_f1 = NumberOrNone(macro_f1)};
}

template <typename T>
nlohmann::ordered_json OrNull(const std::optional<T>& value) {
  if (!value.has_value()) return nullptr;
  return *value;
}

// A link that took the place of the folder, or of one above it, since the
// submission leads to a run whose owner was not asked.
absl::Status CheckIsItself(const fs::path& path) {
  const fs::path now = CanonicalRunDir(path);
  if (now == path) return absl::OkStatus();
  return absl::FailedPreconditionError(
      absl::StrCat("run_dir ", path.string(), " leads to ", now.string(),
                   " by now; resume that folder, or submit the job with it"));
}

// The folder's lock.
absl::StatusOr<RunLock> TakeItself(const fs::path& path) {
  FGNN_RETURN_IF_ERROR(CheckIsItself(path));
  return RunLock::Take(path);
}

}  // namespace

absl::Status CheckRunFolderIsFree(const fs::path& path) {
  if (!path.is_absolute()) {
    return absl::InvalidArgumentError(
        absl::StrCat("run_dir '", path.string(), "' is not an absolute path"));
  }
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

RunFolder::RunFolder(fs::path path, RunLock lock)
    : path_(std::move(path)),
      metrics_(path_ / kMetrics),
      digests_(path_ / kDigests),
      lock_(std::move(lock)) {}

// Whether the folder is free is asked twice: before, so that nothing is left in
// a folder of somebody else, and behind the lock, where the answer stays true.
absl::StatusOr<RunFolder> RunFolder::Create(
    const fs::path& path, const std::string& job_yaml, const RunRecord& record,
    absl::FunctionRef<absl::Status()> claim) {
  FGNN_RETURN_IF_ERROR(CheckIsItself(path));
  FGNN_RETURN_IF_ERROR(CheckRunFolderIsFree(path));
  FGNN_RETURN_IF_ERROR(MakeFolder(path));
  FGNN_ASSIGN_OR_RETURN(RunLock lock, TakeItself(path));
  FGNN_RETURN_IF_ERROR(CheckRunFolderIsFree(path));
  FGNN_RETURN_IF_ERROR(claim());
  RunFolder folder(path, std::move(lock));
  FGNN_RETURN_IF_ERROR(folder.Fill(job_yaml, record));
  return folder;
}

absl::StatusOr<RunFolder> RunFolder::Keep(const fs::path& path,
                                          const RunRecord& record) {
  FGNN_ASSIGN_OR_RETURN(RunLock lock, TakeItself(path));
  FGNN_RETURN_IF_ERROR(lock.Write(record));
  return RunFolder(path, std::move(lock));
}

absl::StatusOr<RunFolder> RunFolder::Reopen(const fs::path& path,
                                            const std::string& job_yaml,
                                            const RunRecord& record) {
  FGNN_RETURN_IF_ERROR(CheckIsItself(path));
  // It may have ended before there was anything.
  FGNN_RETURN_IF_ERROR(MakeFolder(path));
  FGNN_ASSIGN_OR_RETURN(RunLock lock, TakeItself(path));
  RunFolder folder(path, std::move(lock));
  FGNN_RETURN_IF_ERROR(folder.Fill(job_yaml, record));
  return folder;
}

absl::Status RunFolder::Fill(const std::string& job_yaml,
                             const RunRecord& record) const {
  FGNN_RETURN_IF_ERROR(lock_.Write(record));
  FGNN_RETURN_IF_ERROR(MakeFolder(path_ / "checkpoints"));
  // What is refused keeps its summary.
  FGNN_RETURN_IF_ERROR(HeldFolder::Open(path_ / "checkpoints").status());
  std::error_code error;
  fs::remove(path_ / kSummary, error);
  if (error) return ErrorOf(error, path_);
  FGNN_RETURN_IF_ERROR(RemoveLeftovers());
  return WriteFileAtomically(path_ / kJobYaml, job_yaml);
}

fs::path RunFolder::EpochCheckpoint(uint32_t epochs_done) const {
  return path_ / "checkpoints" / CheckpointAge{epochs_done, 0}.ToName();
}

fs::path RunFolder::StepCheckpoint(uint32_t epochs_done,
                                   uint64_t version) const {
  return path_ / "checkpoints" / CheckpointAge{epochs_done, version}.ToName();
}

fs::path RunFolder::BestCheckpoint() const {
  return path_ / "checkpoints" / kBestCheckpointName;
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
    absl::FunctionRef<void(const EpochScores&)> add) const {
  const fs::path path = path_ / kMetrics;
  absl::StatusOr<FileLines> file = FileLines::Open(path, kMaxLineBytes);
  if (absl::IsNotFound(file.status())) return uint64_t{0};
  FGNN_RETURN_IF_ERROR(file.status());
  uint64_t bytes = 0;
  for (uint32_t epoch = 0;; ++epoch) {
    const auto text = file->Next();
    // Behind the last line, or in one that was cut off.
    if (text.ok() && (!text->has_value() || !file->is_whole())) return bytes;
    const absl::StatusOr<EpochScores> scores =
        text.ok() ? ParseMetricsLine(**text, epoch) : text.status();
    if (!scores.ok()) {
      return absl::DataLossError(absl::StrCat(path.string(), ":", epoch + 1,
                                              ": ", scores.status().message()));
    }
    add(*scores);
    bytes += (*text)->size() + 1;
  }
}

absl::StatusOr<RunFolder::Lengths> RunFolder::Sync() const {
  Lengths lengths;
  FGNN_ASSIGN_OR_RETURN(lengths.metrics_bytes, SyncFile(path_ / kMetrics));
  FGNN_ASSIGN_OR_RETURN(lengths.digests_bytes, SyncFile(path_ / kDigests));
  return lengths;
}

absl::Status RunFolder::TruncateTo(const Lengths& lengths) const {
  FGNN_RETURN_IF_ERROR(CutFile(path_ / kMetrics, lengths.metrics_bytes));
  return CutFile(path_ / kDigests, lengths.digests_bytes);
}

absl::Status RunFolder::MakeBest(const fs::path& checkpoint) const {
  FGNN_ASSIGN_OR_RETURN(const HeldFolder held,
                        HeldFolder::Open(path_ / "checkpoints"));
  const fs::path folder = held.path();
  const fs::path from = folder / checkpoint.filename();
  const fs::path next = folder / kNextBest;
  std::error_code error;
  fs::remove(next, error);
  fs::create_hard_link(from, next, error);
  // Not every file system has links.
  if (error) fs::copy_file(from, next, error);
  if (!error) fs::rename(next, folder / kBestCheckpointName, error);
  if (!error) return held.Named(SyncFolder(folder));
  std::error_code ignored;
  fs::remove(next, ignored);
  return ErrorOf(error, BestCheckpoint());
}

absl::StatusOr<std::vector<fs::path>> RunFolder::Checkpoints() const {
  return FindCheckpoints(path_ / "checkpoints");
}

absl::Status RunFolder::PruneCheckpoints(uint32_t keep) const {
  FGNN_ASSIGN_OR_RETURN(const HeldFolder held,
                        HeldFolder::Open(path_ / "checkpoints"));
  const auto checkpoints = FindCheckpoints(held.path());
  FGNN_RETURN_IF_ERROR(held.Named(checkpoints.status()));
  for (size_t i = keep; i < checkpoints->size(); ++i) {
    const fs::path& checkpoint = (*checkpoints)[i];
    std::error_code error;
    fs::remove(checkpoint, error);
    if (error) return held.Named(ErrorOf(error, checkpoint));
  }
  return RemoveLeftovers();
}

absl::Status RunFolder::RemoveLeftovers() const {
  FGNN_ASSIGN_OR_RETURN(const HeldFolder held,
                        HeldFolder::Open(path_ / "checkpoints"));
  FGNN_RETURN_IF_ERROR(held.Named(RemoveTemporaries(held.path())));
  for (const char* name : {kJobYaml, kSummary, kTimelineName}) {
    FGNN_RETURN_IF_ERROR(RemoveTemporariesOf(path_ / name));
  }
  return absl::OkStatus();
}

absl::Status RunFolder::WriteSummary(const RunSummary& summary) const {
  nlohmann::ordered_json preparation = nlohmann::ordered_json::object();
  for (const auto& [phase, seconds] : summary.preparation) {
    preparation[phase] = seconds;
  }
  nlohmann::ordered_json json = {
      {"job_id", summary.job_id},
      {"state", std::string(NameOf(summary.state))},
      {"epochs", summary.epochs},
      {"stopped_early", OrNull(summary.stopped_early)},
      {"seconds", summary.seconds},
      {"preparation_seconds", preparation},
      {"batches_committed", summary.batches_committed},
      {"batches_expected", summary.batches_expected}};
  if (summary.predicts_links) {
    json["valid_mrr"] = OrNull(summary.valid_mrr);
    json["test_mean_rank"] = OrNull(summary.test_mean_rank);
    json["test_mrr"] = OrNull(summary.test_mrr);
  } else {
    json["valid_accuracy"] = OrNull(summary.valid_accuracy);
    json["valid_macro_f1"] = OrNull(summary.valid_macro_f1);
    json["test_accuracy"] = OrNull(summary.test_accuracy);
    json["test_macro_f1"] = OrNull(summary.test_macro_f1);
  }
  json.update(
      nlohmann::ordered_json{{"test_roc_auc", OrNull(summary.test_roc_auc)},
                             {"best_epoch", OrNull(summary.best_epoch)},
                             {"switches", summary.switches},
                             {"restarts", summary.restarts},
                             {"peak_bytes", summary.peak_bytes},
                             {"seed", summary.seed}});
  if (!summary.error.empty()) json["error"] = summary.error;
  if (!summary.warning.empty()) json["warning"] = summary.warning;
  return WriteFileAtomically(
      path_ / kSummary,
      json.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) +
          "\n");
}

absl::StatusOr<std::vector<std::string>> ReadMetricsLines(
    const fs::path& run_dir, uint32_t first_epoch, size_t enough_bytes) {
  const fs::path path = run_dir / kMetrics;
  std::vector<std::string> lines;
  std::error_code error;
  if (!fs::exists(path, error) && !error) return lines;
  FGNN_ASSIGN_OR_RETURN(FileLines file, FileLines::Open(path, kMaxLineBytes));
  size_t bytes = 0;
  for (uint32_t epoch = 0; bytes < enough_bytes; ++epoch) {
    FGNN_ASSIGN_OR_RETURN(const auto line, file.Next());
    // A line without its end is still being written.
    if (!line.has_value() || !file.is_whole()) break;
    if (epoch < first_epoch) continue;
    bytes += line->size();
    lines.emplace_back(*line);
  }
  return lines;
}

}  // namespace fgnn
