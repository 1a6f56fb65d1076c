#include "scheduler/files/run_lock.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>

#include "absl/strings/str_cat.h"
#include "nlohmann/json.hpp"
#include "shared/base/files/file.h"
#include "shared/base/files/private_file.h"
#include "shared/base/status.h"
#include "shared/base/user_name.h"

namespace fgnn {
namespace {

namespace fs = std::filesystem;

constexpr size_t kMaxRecordBytes = 1 << 16;
// Tries to lock, while holders remove the lock's file.
constexpr int kMaxLockAttempts = 100;

std::string TextAt(const nlohmann::json& json, const char* name) {
  const auto found = json.find(name);
  return found != json.end() && found->is_string() ? found->get<std::string>()
                                                   : std::string();
}

double NumberAt(const nlohmann::json& json, const char* name) {
  const auto found = json.find(name);
  return found != json.end() && found->is_number() ? found->get<double>() : 0;
}

bool IsTrueAt(const nlohmann::json& json, const char* name) {
  const auto found = json.find(name);
  return found != json.end() && found->is_boolean() && found->get<bool>();
}

nlohmann::json ReadJson(const fs::path& path) {
  const absl::StatusOr<std::string> text =
      ReadSmallFile(path, kMaxRecordBytes, O_RDONLY | O_NOFOLLOW);
  if (!text.ok()) return nullptr;
  // A kill may have left bytes of an earlier record after the line.
  return nlohmann::json::parse(text->substr(0, text->find('\n')), nullptr,
                               /*allow_exceptions=*/false);
}

std::string DescribeHolder(const fs::path& path) {
  const nlohmann::json json = ReadJson(path);
  if (!json.is_object()) return "a job that has yet to say which";
  const std::string user = TextAt(json, "user");
  const auto pid = json.find("pid");
  return absl::StrCat("job ", TextAt(json, "job_id"),
                      user.empty() ? "" : " of user ", user,
                      ", of the service in ", TextAt(json, "service"),
                      pid != json.end() && pid->is_number_integer()
                          ? absl::StrCat(" (pid ", pid->get<int64_t>(), ")")
                          : "");
}

// Returns whether the file at `path` is the one that is open as `lock`.
bool IsLockAt(const fs::path& path, int lock) {
  struct stat locked = {};
  struct stat named = {};
  return ::fstat(lock, &locked) == 0 && ::lstat(path.c_str(), &named) == 0 &&
         named.st_ino == locked.st_ino && named.st_dev == locked.st_dev;
}

}  // namespace

std::optional<RunRecord> ReadRunRecord(const fs::path& run_dir) {
  const nlohmann::json json = ReadJson(run_dir / kRunRecordName);
  if (!json.is_object()) return std::nullopt;
  return RunRecord{
      .job_id = TextAt(json, "job_id"),
      .user = TextAt(json, "user"),
      .digest = IsTrueAt(json, "digest"),
      .trace = IsTrueAt(json, "trace"),
      .service = TextAt(json, "service"),
      .seconds_before = NumberAt(json, "seconds_before"),
      .seeds =
          SeedSharesFromText(TextAt(json, "seeds")).value_or(SeedShares())};
}

std::string OwnerOnDisk(const fs::path& run_dir) {
  const uid_t us = ::geteuid();
  struct stat record {};
  if (::lstat((run_dir / kRunRecordName).c_str(), &record) == 0 &&
      record.st_uid == us) {
    if (const auto read = ReadRunRecord(run_dir); read.has_value()) {
      return read->user;
    }
  }
  struct stat folder {};
  if (::stat(run_dir.c_str(), &folder) != 0 || folder.st_uid == us) return "";
  return UserName(folder.st_uid);
}

fs::path CanonicalRunDir(const fs::path& run_dir) {
  if (!run_dir.is_absolute()) return run_dir;
  std::error_code error;
  fs::path canonical = fs::weakly_canonical(run_dir, error);
  if (error) return run_dir;
  // A path with a slash at its end names the same folder.
  return canonical.has_filename() ? canonical : canonical.parent_path();
}

absl::StatusOr<bool> RunLock::TryLock() {
  const fs::path path = folder_.path() / kRunLockName;
  absl::StatusOr<UniqueFd> fd = OpenPrivateFile(path);
  FGNN_RETURN_IF_ERROR(folder_.Named(fd.status()));
  while (::flock(fd->get(), LOCK_EX | LOCK_NB) != 0) {
    if (errno == EINTR) continue;
    if (errno != EWOULDBLOCK) {
      return folder_.Named(
          ErrnoToStatus(errno, absl::StrCat("lock ", path.string())));
    }
    return absl::FailedPreconditionError(
        absl::StrCat("run_dir ", folder_.name().string(), " is in use by ",
                     DescribeHolder(folder_.path() / kRunRecordName),
                     "; wait until it has ended, or name another folder"));
  }
  if (!IsLockAt(path, fd->get())) return false;
  lock_ = *std::move(fd);
  return true;
}

// Descriptors are closed on exec: a daemon that outlives the scheduler must not
// hold the lock.
absl::StatusOr<RunLock> RunLock::Take(HeldFolder folder) {
  RunLock lock(std::move(folder));
  const HeldFolder& held = lock.folder_;
  bool is_locked = false;
  for (int attempt = 0; attempt < kMaxLockAttempts && !is_locked; ++attempt) {
    FGNN_ASSIGN_OR_RETURN(is_locked, lock.TryLock());
  }
  if (!is_locked) {
    return absl::UnavailableError(
        absl::StrCat("run_dir ", held.name().string(),
                     ": other jobs take and leave it; try "
                     "again"));
  }
  absl::StatusOr<UniqueFd> record =
      OpenPlainFile(held.path() / kRunRecordName, O_RDWR | O_CREAT);
  FGNN_RETURN_IF_ERROR(held.Named(record.status()));
  lock.record_ = *std::move(record);
  return lock;
}

absl::Status RunLock::Write(const RunRecord& record) const {
  nlohmann::ordered_json json = {
      {"job_id", record.job_id},   {"user", record.user},
      {"digest", record.digest},   {"trace", record.trace},
      {"service", record.service}, {"seconds_before", record.seconds_before},
      {"pid", ::getpid()}};
  if (record.seeds.are_own()) json["seeds"] = ToText(record.seeds);
  const std::string text =
      json.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) +
      "\n";
  const auto size = static_cast<ssize_t>(text.size());
  const ssize_t written = ::pwrite(record_.get(), text.data(), text.size(), 0);
  if (written >= 0 && written < size) errno = ENOSPC;
  if (written != size || ::ftruncate(record_.get(), size) != 0 ||
      ::fsync(record_.get()) != 0) {
    return ErrnoToStatus(
        errno,
        absl::StrCat("write ", (folder_.name() / kRunRecordName).string()));
  }
  return absl::OkStatus();
}

RunLock& RunLock::operator=(RunLock&& other) noexcept {
  if (this != &other) {
    Unlock();
    folder_ = std::move(other.folder_);
    lock_ = std::move(other.lock_);
    record_ = std::move(other.record_);
  }
  return *this;
}

// Closing alone is not enough: a child before its exec shares the lock. The
// file goes first, while nobody else can have the lock.
void RunLock::Unlock() {
  if (!lock_.valid()) return;
  const fs::path path = folder_.path() / kRunLockName;
  if (IsLockAt(path, lock_.get())) ::unlink(path.c_str());
  ::flock(lock_.get(), LOCK_UN);
  lock_.Reset();
}

}  // namespace fgnn
