// logs: prints the daemons' messages about a job.
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <string>
#include <system_error>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "nlohmann/json.hpp"
#include "shared/base/json_text.h"
#include "shared/base/printable_text.h"
#include "shared/base/status.h"
#include "shared/config/state_dir.h"
#include "shared/telemetry/bounded_log.h"
#include "shared/telemetry/json_log.h"
#include "tools/fgnn/commands/commands.h"
#include "tools/fgnn/commands/job_help.h"
#include "tools/fgnn/commands/log_lines.h"
#include "tools/fgnn/history/job_history.h"

namespace fgnn {
namespace {

namespace fs = std::filesystem;

// Milliseconds added before and after a job's time. Daemons log about a job
// shortly before it is queued and after it has ended too.
constexpr int64_t kMarginMs = 1000;

// Returns the lines to select: those of the job, or all if none is named.
// `of_host`: not by time, since another host may have another clock.
absl::StatusOr<LogSelection> SelectionFor(const std::string& name,
                                          const fs::path& state_dir,
                                          bool of_host) {
  if (name.empty()) return LogSelection{};
  FGNN_ASSIGN_OR_RETURN(JobHistory history,
                        JobHistory::Open({.state_dir = state_dir}));
  FGNN_ASSIGN_OR_RETURN(const v1::Job job, history.GetJob(name));
  LogSelection selection;
  selection.job = job.job_id();
  if (of_host) return selection;
  selection.from = LogTime(job.submitted_ms() - kMarginMs);
  if (job.finished_ms() != 0) {
    selection.to = LogTime(job.finished_ms() + kMarginMs);
  }
  return selection;
}

// Returns the folder of the host's logs. NotFound: no such host has logs.
absl::StatusOr<fs::path> FolderOf(const std::string& host,
                                  const fs::path& state_dir) {
  if (host.empty()) return state_dir;
  std::vector<std::string> hosts;
  std::error_code error;
  const fs::path all = HostFolder(state_dir, "x").parent_path();
  for (const auto& entry : fs::directory_iterator(all, error)) {
    hosts.push_back(entry.path().filename().string());
  }
  if (error && error != std::errc::no_such_file_or_directory) {
    return ErrnoToStatus(error.value(), all.string());
  }
  std::sort(hosts.begin(), hosts.end());
  if (std::find(hosts.begin(), hosts.end(), host) != hosts.end()) {
    return HostFolder(state_dir, host);
  }
  return absl::NotFoundError(absl::StrCat(
      "no host '", host, "' has logs here; there are ",
      hosts.empty() ? "none of other hosts" : absl::StrJoin(hosts, ", "),
      ", and without --host those of this host"));
}

// NotFound: there is no log. PermissionDenied: this user may not read them.
absl::StatusOr<std::vector<std::string>> DaemonsWithLogs(
    const fs::path& state_dir) {
  std::vector<std::string> names;
  std::error_code error;
  const fs::path folder = LogPath(state_dir, "x").parent_path();
  for (const auto& entry : fs::directory_iterator(folder, error)) {
    if (entry.path().extension() == ".log") {
      names.push_back(entry.path().stem().string());
    }
  }
  if (error && error != std::errc::no_such_file_or_directory) {
    return ErrnoToStatus(error.value(), folder.string());
  }
  if (names.empty()) {
    return absl::NotFoundError(absl::StrCat("no logs in ", folder.string()));
  }
  return names;
}

struct LogsFlags {
  std::string job_id;
  std::string daemon;
  std::string host;
};

absl::Status PrintLogs(const LogsFlags& flags, const CommandContext& context) {
  const std::string& daemon = flags.daemon;
  FGNN_ASSIGN_OR_RETURN(const LogSelection selection,
                        SelectionFor(flags.job_id, context.place.state_dir,
                                     /*of_host=*/!flags.host.empty()));
  FGNN_ASSIGN_OR_RETURN(const fs::path folder,
                        FolderOf(flags.host, context.place.state_dir));
  FGNN_ASSIGN_OR_RETURN(const std::vector<std::string> daemons,
                        DaemonsWithLogs(folder));
  bool known = daemon.empty();
  std::vector<LogLine> lines;
  for (const std::string& name : daemons) {
    if (!daemon.empty() && name != daemon) continue;
    known = true;
    const fs::path log = LogPath(folder, name);
    for (const fs::path& part : {PredecessorOf(log), log}) {
      std::ifstream in(part);
      const auto selected = SelectLogLines(in, selection);
      lines.insert(lines.end(), selected.begin(), selected.end());
    }
  }
  if (!known) {
    return absl::NotFoundError(absl::StrCat("no daemon '", daemon,
                                            "' has a log; there are ",
                                            absl::StrJoin(daemons, ", ")));
  }
  SortByTime(lines);
  for (const LogLine& line : lines) {
    if (context.json) {
      std::cout << JsonText(nlohmann::ordered_json(
                       {{"time", line.time}, {"text", line.text}}))
                << "\n";
    } else {
      std::cout << PrintableText(line.text) << "\n";
    }
  }
  return absl::OkStatus();
}

}  // namespace

void AddLogsCommand(Command app, CommandContext& context) {
  const Command logs = app.AddSubcommand(
      "logs",
      "What the scheduler and the daemons said of a job; without JOB, all that "
      "they said");
  context.places["logs"] = CommandPlace::kThisMachine;
  LogsFlags& flags = OnRun(logs, context, &PrintLogs);
  logs.AddOption("JOB", flags.job_id, kJobHelp).Takes("JOB");
  logs.AddOption("--daemon", flags.daemon,
                 "Show the lines of this daemon only, e.g. sampler.0")
      .Takes("NAME");
  logs.AddOption("--host", flags.host,
                 "Show the lines of the daemons of this other host, e.g. host1")
      .Takes("NAME");
}

}  // namespace fgnn
