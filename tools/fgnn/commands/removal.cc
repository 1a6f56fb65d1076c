// rm, prune.
#include <unistd.h>

#include <cstdint>
#include <iostream>
#include <string>
#include <vector>

#include "absl/algorithm/container.h"
#include "scheduler/store/job.h"
#include "shared/base/json_text.h"
#include "shared/base/printable_text.h"
#include "shared/base/status.h"
#include "shared/base/user_name.h"
#include "tools/fgnn/commands/commands.h"
#include "tools/fgnn/commands/job_help.h"
#include "tools/fgnn/history/job_deleter.h"
#include "tools/fgnn/history/job_history.h"
#include "tools/fgnn/service/job_request.h"

namespace fgnn {
namespace {

constexpr int64_t kMsPerSecond = 1000;
// More jobs than a store holds.
constexpr uint32_t kAllJobs = UINT32_MAX;

// Tells of deleted jobs: in text as they are deleted, in JSON at the end.
class RemovalReport {
 public:
  RemovalReport(bool json, bool is_dry_run) : json_(json), dry_(is_dry_run) {}

  void Add(const v1::DeleteJobResponse& job) {
    if (json_) {
      jobs_.push_back({{"job_id", job.job_id()},
                       {"run_dir", job.run_dir()},
                       {"folder_deleted", job.folder_deleted()},
                       {"left", job.left()}});
      return;
    }
    const std::string folder = PrintableText(job.run_dir());
    std::cout << "job " << job.job_id() << " deleted"
              << (job.folder_deleted() ? ", with " + folder
                  : job.left().empty()
                      ? "; it had no folder at " + folder
                      : "; " + folder + " stays: " + PrintableText(job.left()))
              << std::endl;
  }
  void AddPlanned(const v1::Job& job) {
    if (json_) {
      jobs_.push_back({{"job_id", job.job_id()}, {"run_dir", job.run_dir()}});
      return;
    }
    std::cout << "job " << job.job_id() << " would be deleted, with "
              << PrintableText(job.run_dir()) << "\n";
  }
  void End() const {
    if (!json_) return;
    std::cout << JsonText(nlohmann::ordered_json(
                              {{"dry_run", dry_}, {"deleted", jobs_}}),
                          2)
              << "\n";
  }

 private:
  const bool json_;
  const bool dry_;
  nlohmann::ordered_json jobs_ = nlohmann::ordered_json::array();
};

// Deletes the jobs in turn. After an error the others are tried too; returns
// the first error.
absl::Status DeleteAll(JobDeleter& deleter, const std::vector<std::string>& ids,
                       RemovalReport& report) {
  absl::Status first_error;
  for (const std::string& id : ids) {
    const absl::StatusOr<v1::DeleteJobResponse> deleted = deleter.Delete(id);
    if (deleted.ok()) {
      report.Add(*deleted);
      continue;
    }
    if (first_error.ok()) {
      first_error = deleted.status();
    } else {
      std::cerr << "fgnn: " << MessageOf(InOneLine(deleted.status()))
                << std::endl;
    }
  }
  report.End();
  return first_error;
}

absl::Status Remove(const std::vector<std::string>& names,
                    const CommandContext& context) {
  FGNN_ASSIGN_OR_RETURN(JobDeleter deleter, JobDeleter::Open(context.place));
  // A word that names no job is refused before any job is deleted. And 'last'
  // is another job once one is deleted.
  std::vector<std::string> ids;
  for (const std::string& name : names) {
    FGNN_ASSIGN_OR_RETURN(std::string id, deleter.FindId(name));
    if (!absl::c_linear_search(ids, id)) ids.push_back(std::move(id));
  }
  RemovalReport report(context.json, /*is_dry_run=*/false);
  return DeleteAll(deleter, ids, report);
}

struct PruneFlags {
  std::string older;
  std::string user;
  bool dry_run = false;
};

// Returns the user's jobs that ended at least so many seconds ago.
absl::StatusOr<std::vector<v1::Job>> FindOlder(uint32_t seconds,
                                               const std::string& user,
                                               const ServicePlace& place) {
  const int64_t until_ms = UnixMilliseconds() - int64_t{seconds} * kMsPerSecond;
  v1::ListJobsRequest request;
  request.set_limit(kAllJobs);
  request.set_user(user);
  for (const v1::JobState state :
       {v1::JOB_STATE_COMPLETED, v1::JOB_STATE_FAILED,
        v1::JOB_STATE_CANCELLED}) {
    request.add_states(state);
  }
  FGNN_ASSIGN_OR_RETURN(JobHistory history, JobHistory::Open(place));
  FGNN_ASSIGN_OR_RETURN(const v1::ListJobsResponse listed,
                        history.ListJobs(request));
  std::vector<v1::Job> older;
  for (const v1::Job& job : listed.jobs()) {
    if (job.finished_ms() != 0 && job.finished_ms() <= until_ms) {
      older.push_back(job);
    }
  }
  return older;
}

absl::Status Prune(const PruneFlags& flags, const CommandContext& context) {
  const absl::StatusOr<uint32_t> seconds = ParseTimeLimit(flags.older);
  if (!seconds.ok()) {
    return absl::InvalidArgumentError("--older '" + flags.older +
                                      "' is no time; write e.g. 30d or 12h");
  }
  const std::string user =
      flags.user.empty() ? UserName(::geteuid()) : flags.user;
  FGNN_ASSIGN_OR_RETURN(const std::vector<v1::Job> jobs,
                        FindOlder(*seconds, user, context.place));
  RemovalReport report(context.json, flags.dry_run);
  std::vector<std::string> ids;
  for (const v1::Job& job : jobs) {
    ids.push_back(job.job_id());
    if (flags.dry_run) report.AddPlanned(job);
  }
  if (flags.dry_run || ids.empty()) {
    report.End();
    return absl::OkStatus();
  }
  FGNN_ASSIGN_OR_RETURN(JobDeleter deleter, JobDeleter::Open(context.place));
  return DeleteAll(deleter, ids, report);
}

}  // namespace

void AddRemovalCommands(Command app, CommandContext& context) {
  const Command rm = app.AddSubcommand(
      "rm",
      "Delete jobs that have ended, with the files that their runs have made; "
      "also while no service runs");
  rm.AddOption("JOB", OnRun(rm, context, &Remove), kJobHelp)
      .Required()
      .Takes("JOB");

  const Command prune = app.AddSubcommand(
      "prune",
      "Do as rm does with all jobs that ended some time ago; also while no "
      "service runs");
  PruneFlags& flags = OnRun(prune, context, &Prune);
  prune
      .AddOption("--older", flags.older,
                 "Jobs that ended at least so long ago, e.g. 30d, 12h")
      .Required()
      .Takes("TIME");
  prune.AddOption("--user", flags.user, "Jobs of this user; default: your own")
      .Takes("NAME");
  prune.AddFlag("--dry-run", flags.dry_run,
                "List what would be deleted, and delete nothing");
}

}  // namespace fgnn
