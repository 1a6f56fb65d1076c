#include "tools/fgnn/history/stored_jobs.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdint>
#include <system_error>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "scheduler/rpc/job_messages.h"
#include "scheduler/store/job_names.h"
#include "shared/base/status.h"
#include "shared/base/user_name.h"
#include "shared/config/state_dir.h"
#include "tools/fgnn/service/service_client.h"

namespace fgnn {
namespace {

namespace fs = std::filesystem;

// Most copies that are made while somebody writes the store.
constexpr int kMaxReadAttempts = 5;
// SQLite's file, and its log of commits that are not in that file yet.
constexpr std::array<const char*, 2> kEndings = {"", "-wal"};

// Signs by which a write shows; all zero: there is no file.
struct FileSigns {
  uint64_t inode = 0;
  int64_t bytes = 0;
  int64_t seconds = 0;
  int64_t nanoseconds = 0;

  bool operator==(const FileSigns&) const = default;
};

std::vector<FileSigns> SignsOf(const fs::path& store) {
  std::vector<FileSigns> signs;
  for (const char* ending : kEndings) {
    struct stat file = {};
    const bool is_there = ::stat((store.string() + ending).c_str(), &file) == 0;
    signs.push_back(is_there ? FileSigns{.inode = file.st_ino,
                                         .bytes = file.st_size,
                                         .seconds = file.st_mtim.tv_sec,
                                         .nanoseconds = file.st_mtim.tv_nsec}
                             : FileSigns{});
  }
  return signs;
}

// Copies one file; removes `to` if there is none.
absl::Status CopyOne(const fs::path& from, const fs::path& to) {
  std::error_code error;
  fs::remove(to, error);
  fs::copy_file(from, to, error);
  const bool is_missing = error == std::errc::no_such_file_or_directory;
  if (!error || is_missing) return absl::OkStatus();
  return ErrnoToStatus(error.value(), absl::StrCat("read ", from.string()));
}

// Copies the store as it was at one moment.
absl::Status CopyStore(const fs::path& store, const fs::path& copy) {
  for (int attempt = 0; attempt < kMaxReadAttempts; ++attempt) {
    const std::vector<FileSigns> before = SignsOf(store);
    if (before.front() == FileSigns()) {
      return absl::NotFoundError(
          absl::StrCat(store.string(), ": there is no job store"));
    }
    for (const char* ending : kEndings) {
      FGNN_RETURN_IF_ERROR(
          CopyOne(store.string() + ending, copy.string() + ending));
    }
    if (SignsOf(store) == before) return absl::OkStatus();
  }
  return absl::UnavailableError(absl::StrCat(
      store.string(), " is being written by a service; try again"));
}

}  // namespace

absl::Status CheckMayReadStore(const fs::path& state_dir) {
  const fs::path path = JobStorePath(state_dir);
  if (::access(path.c_str(), R_OK) == 0 || errno != EACCES) {
    return absl::OkStatus();
  }
  struct stat folder = {};
  const std::string owner = ::stat(state_dir.c_str(), &folder) == 0
                                ? UserName(folder.st_uid)
                                : "its user";
  return absl::InvalidArgumentError(absl::StrCat(
      "no service runs in ", state_dir.string(), ", and then only ", owner,
      " may read its jobs; let ", owner,
      " start it with 'fgnn up', or name another with --state-dir"));
}

absl::StatusOr<StoredJobs> StoredJobs::Read(const fs::path& state_dir) {
  FGNN_RETURN_IF_ERROR(CheckMayReadStore(state_dir));
  const fs::path path = JobStorePath(state_dir);
  FGNN_ASSIGN_OR_RETURN(TemporaryFolder folder, TemporaryFolder::Make());
  const fs::path copy = JobStorePath(folder.path());
  FGNN_RETURN_IF_ERROR(CopyStore(path, copy));
  absl::StatusOr<JobStore> store = JobStore::Open(copy);
  if (!store.ok()) {  // Names the file that the user knows.
    return absl::Status(store.status().code(),
                        absl::StrReplaceAll(MessageOf(store.status()),
                                            {{copy.string(), path.string()}}));
  }
  return StoredJobs(std::move(folder), *std::move(store));
}

absl::StatusOr<v1::Job> StoredJobs::GetJob(const std::string& name) {
  FGNN_ASSIGN_OR_RETURN(const Job job,
                        FindNamedJob(store_, name, UserName(::geteuid())));
  v1::Job message;
  ToMessage(job, &message);
  return message;
}

absl::StatusOr<v1::ListJobsResponse> StoredJobs::ListJobs(
    const v1::ListJobsRequest& request) {
  FGNN_ASSIGN_OR_RETURN(const JobFilter filter, FilterOf(request));
  FGNN_ASSIGN_OR_RETURN(
      const std::vector<Job> jobs,
      store_.Find(filter,
                  request.limit() == 0 ? kUsualListed : request.limit()));
  v1::ListJobsResponse response;
  for (const Job& job : jobs) ToMessage(job, response.add_jobs());
  return response;
}

}  // namespace fgnn
