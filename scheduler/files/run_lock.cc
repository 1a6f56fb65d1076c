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
constexpr int kMaxAttempts = 100;

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

// Returns whether the folder's lock is the file that is open as `lock`.
bool IsLockOf(int folder, int lock) {
  struct stat locked = {};
  struct stat named = {};
  return ::fstat(lock, &locked) == 0 &&
         ::fstatat(folder, kRunLockName, &named, AT_SYMLINK_NOFOLLOW) == 0 &&
         named.st_ino == locked.st_ino && named.st_dev == locked.st_dev;
}

}  // namespace

std::optional<RunRecord> ReadRunRecord(const fs::path& run_dir) {
  const nlohmann::json json = ReadJson(run_dir / kRunRecordName);
  if (!json.is_object()) return std::nullopt;
  return RunRecord{.job_id = TextAt(json, "job_id"),
                   .user = TextAt(json, "user"),
                   .digest = IsTrueAt(json, "digest"),
                   .trace = IsTrueAt(json, "trace"),
                   .service = TextAt(json, "service"),
                   .seconds_before = NumberAt(json, "seconds_before")};
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

absl::StatusOr<bool> RunLock::TryLock(const fs::path& run_dir) {
  const fs::path path = run_dir / kRunLockName;
  FGNN_ASSIGN_OR_RETURN(UniqueFd fd, OpenPrivateFile(path));
  while (::flock(fd.get(), LOCK_EX | LOCK_NB) != 0) {
    if (errno == EINTR) continue;
    if (errno != EWOULDBLOCK) {
      return ErrnoToStatus(errno, absl::StrCat("lock ", path.string()));
    }
    return absl::FailedPreconditionError(absl::StrCat(
        "run_dir ", run_dir.string(), " is in use by ", DescribeHolder(path_),
        "; wait until it has ended, or name another folder"));
  }
  if (!IsLockOf(folder_.get(), fd.get())) return false;
  lock_ = std::move(fd);
  return true;
}

absl::StatusOr<RunLock> RunLock::Take(const fs::path& run_dir) {
  RunLock lock;
  lock.path_ = run_dir / kRunRecordName;
  // Descriptors are closed on exec: a daemon that outlives the scheduler must
  // not hold the lock.
  lock.folder_.Reset(::open(run_dir.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (!lock.folder_.valid()) return ErrnoToStatus(errno, run_dir.string());
  bool is_locked = false;
  for (int attempt = 0; attempt < kMaxAttempts && !is_locked; ++attempt) {
    FGNN_ASSIGN_OR_RETURN(is_locked, lock.TryLock(run_dir));
  }
  if (!is_locked) {
    return absl::UnavailableError(
        absl::StrCat("run_dir ", run_dir.string(),
                     ": other jobs take and leave it; try "
                     "again"));
  }
  FGNN_ASSIGN_OR_RETURN(lock.record_,
                        OpenPlainFile(lock.path_, O_RDWR | O_CREAT));
  return lock;
}

absl::Status RunLock::Write(const RunRecord& record) const {
  const std::string text =
      nlohmann::ordered_json({{"job_id", record.job_id},
                              {"user", record.user},
                              {"digest", record.digest},
                              {"trace", record.trace},
                              {"service", record.service},
                              {"seconds_before", record.seconds_before},
                              {"pid", ::getpid()}})
          .dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) +
      "\n";
  const auto size = static_cast<ssize_t>(text.size());
  const ssize_t written = ::pwrite(record_.get(), text.data(), text.size(), 0);
  if (written >= 0 && written < size) errno = ENOSPC;
  if (written != size || ::ftruncate(record_.get(), size) != 0 ||
      ::fsync(record_.get()) != 0) {
    return ErrnoToStatus(errno, absl::StrCat("write ", path_.string()));
  }
  return absl::OkStatus();
}

RunLock& RunLock::operator=(RunLock&& other) noexcept {
  if (this != &other) {
    Unlock();
    folder_ = std::move(other.folder_);
    lock_ = std::move(other.lock_);
    record_ = std::move(other.record_);
    path_ = std::move(other.path_);
  }
  return *this;
}

// Closing alone is not enough: a child before its exec shares the lock. The
// file goes first, while nobody else can have the lock.
void RunLock::Unlock() {
  if (!lock_.valid()) return;
  if (IsLockOf(folder_.get(), lock_.get())) {
    ::unlinkat(folder_.get(), kRunLockName, 0);
  }
  ::flock(lock_.get(), LOCK_UN);
  lock_.Reset();
}

}  // namespace fgnn
