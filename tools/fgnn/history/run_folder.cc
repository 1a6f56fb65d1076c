#include "tools/fgnn/history/run_folder.h"

#include <system_error>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "shared/base/status.h"
#include "shared/config/state_dir.h"
#include "tools/fgnn/history/stored_jobs.h"
#include "tools/fgnn/service/service_client.h"

namespace fgnn {
namespace {

namespace fs = std::filesystem;

bool IsRunFolder(const fs::path& folder) {
  std::error_code error;
  return fs::is_regular_file(folder / "job.yaml", error);
}

// Returns the folders in `folder`, of runs or of users' runs. A folder that may
// not be read has none.
std::vector<fs::path> FoldersIn(const fs::path& folder) {
  std::vector<fs::path> folders;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(folder, error)) {
    std::error_code ignored;
    if (entry.is_directory(ignored)) folders.push_back(entry.path());
  }
  return folders;
}

// Finds the folder of a job that no store knows.
absl::StatusOr<fs::path> FindAmongRuns(const std::string& part,
                                       const fs::path& state_dir) {
  const fs::path runs = RunDirPath(state_dir, "x").parent_path();
  std::vector<fs::path> folders = FoldersIn(runs);
  for (const fs::path& folder : FoldersIn(runs)) {
    if (IsRunFolder(folder)) continue;
    const std::vector<fs::path> of_user = FoldersIn(folder);
    folders.insert(folders.end(), of_user.begin(), of_user.end());
  }
  std::vector<fs::path> found;
  for (const fs::path& folder : folders) {
    const std::string name = folder.filename().string();
    if (name.find(part) != std::string::npos && IsRunFolder(folder)) {
      found.push_back(folder);
    }
  }
  if (found.size() == 1) return found.front();
  if (found.empty()) {
    return absl::NotFoundError(
        absl::StrCat("'", part,
                     "' is neither a run's folder (with job.yaml "
                     "in it) nor a job in ",
                     runs.string(), "; 'fgnn jobs' lists the jobs"));
  }
  return absl::InvalidArgumentError(
      absl::StrCat(found.size(), " jobs have '", part,
                   "' in their ids; write more of the id"));
}

// Asks the service for the job; without one, the folder's job store. NotFound:
// neither knows the job.
absl::StatusOr<v1::Job> FindJob(const std::string& name,
                                const fs::path& state_dir) {
  absl::StatusOr<ServiceClient> client =
      ServiceClient::Connect({.state_dir = state_dir});
  if (client.ok()) return client->GetJob(name);
  absl::StatusOr<StoredJobs> stored = StoredJobs::Read(state_dir);
  if (stored.ok()) return stored->GetJob(name);
  return absl::NotFoundError(MessageOf(stored.status()));
}

// Returns a run that is named as its folder.
FoundRun RunIn(const fs::path& folder) {
  const fs::path whole = folder.lexically_normal();
  return {
      whole,
      (whole.has_filename() ? whole : whole.parent_path()).filename().string()};
}

}  // namespace

absl::StatusOr<FoundRun> FindRun(const std::string& run,
                                 const fs::path& state_dir) {
  if (IsRunFolder(run)) return RunIn(fs::absolute(run));
  if (run.find('/') == std::string::npos) {
    const absl::StatusOr<v1::Job> job = FindJob(run, state_dir);
    if (job.ok()) {
      return FoundRun{job->run_dir(),
                      job->name().empty() ? job->job_id() : job->name()};
    }
    if (!absl::IsNotFound(job.status())) return job.status();
  }
  const absl::StatusOr<fs::path> folder = FindAmongRuns(run, state_dir);
  if (absl::IsNotFound(folder.status())) {
    FGNN_RETURN_IF_ERROR(CheckMayReadStore(state_dir));
  }
  FGNN_RETURN_IF_ERROR(folder.status());
  return RunIn(*folder);
}

absl::StatusOr<fs::path> FindRunFolder(const std::string& run,
                                       const fs::path& state_dir) {
  FGNN_ASSIGN_OR_RETURN(FoundRun found, FindRun(run, state_dir));
  return std::move(found.folder);
}

}  // namespace fgnn
