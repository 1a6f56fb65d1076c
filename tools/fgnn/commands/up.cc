// up.
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <iostream>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "shared/base/clock.h"
#include "shared/base/json_text.h"
#include "shared/base/printable_text.h"
#include "shared/base/status.h"
#include "shared/config/device_list.h"
#include "shared/config/socket_group.h"
#include "shared/config/state_dir.h"
#include "shared/device/device.h"
#include "tools/fgnn/commands/commands.h"
#include "tools/fgnn/reports/message_json.h"
#include "tools/fgnn/service/devices_for_job.h"
#include "tools/fgnn/service/program.h"
#include "tools/fgnn/service/service_client.h"
#include "tools/fgnn/service/service_process.h"

namespace fgnn {
namespace {

constexpr std::chrono::seconds kUpEndTimeout{60};

void PrintService(const CommandContext& context, const std::string& headline,
                  const v1::ServiceInfo& info) {
  const std::filesystem::path socket = SchedulerSocketPath(info.state_dir());
  if (context.json) {
    nlohmann::ordered_json json = ToJson(info);
    json["socket"] = socket.string();
    std::cout << JsonText(json, 2) << "\n";
    return;
  }
  std::cout << headline << "\n"
            << "devices  " << absl::StrJoin(info.devices(), " ") << "\n"
            << "socket   " << socket.string() << "\n"
            << (info.http().empty()
                    ? ""
                    : absl::StrCat("pages    http://", info.http(), "\n"))
            << "logs     "
            << LogPath(info.state_dir(), "scheduler").parent_path().string()
            << "\n";
}

// Returns the error of a service that is another one than `flag` asks for.
absl::Status OtherService(const v1::ServiceInfo& info, const std::string& has,
                          const std::string& flag, const std::string& asks) {
  return absl::FailedPreconditionError(absl::StrCat(
      "a service runs already, pid ", info.pid(), ", ", has, "but ", flag, " ",
      asks, "; end it first with 'fgnn down', or leave ", flag, " out"));
}

// FailedPrecondition: the service has other devices than those asked for.
absl::Status CheckSameDevices(std::vector<std::string> asked,
                              const v1::ServiceInfo& info) {
  std::vector<std::string> has(info.devices().begin(), info.devices().end());
  std::sort(asked.begin(), asked.end());
  std::sort(has.begin(), has.end());
  if (asked == has) return absl::OkStatus();
  return OtherService(info, absl::StrCat("on ", absl::StrJoin(has, " "), ", "),
                      "--devices",
                      absl::StrCat("asks for ", absl::StrJoin(asked, " ")));
}

// FailedPrecondition: the service's socket is open to another group.
absl::Status CheckSameGroup(gid_t asked, const v1::ServiceInfo& info) {
  const std::filesystem::path socket = SchedulerSocketPath(info.state_dir());
  struct stat file = {};
  if (::stat(socket.c_str(), &file) != 0) {
    return ErrnoToStatus(errno, socket.string());
  }
  if (file.st_gid == asked) return absl::OkStatus();
  return OtherService(
      info, absl::StrCat("open to group ", GroupName(file.st_gid), ", "),
      "--socket-group", absl::StrCat("asks for ", GroupName(asked)));
}

// FailedPrecondition: the service's pages are at another address.
absl::Status CheckSameHttp(const std::string& asked,
                           const v1::ServiceInfo& info) {
  if (info.http() == asked ||
      info.http() == absl::StrCat("127.0.0.1:", asked)) {
    return absl::OkStatus();
  }
  return OtherService(info,
                      info.http().empty()
                          ? "without pages, "
                          : absl::StrCat("with pages on ", info.http(), ", "),
                      "--http", absl::StrCat("asks for ", asked));
}

// FailedPrecondition: a service that runs would not obey these words.
absl::Status CheckNoRules(const std::vector<std::string>& rules,
                          const v1::ServiceInfo& info) {
  if (rules.empty()) return absl::OkStatus();
  return OtherService(info, "", rules.front(),
                      "counts for a service that is started");
}

// What `up` asks of a service.
struct UpRequest {
  ServiceStart start;  // The service, if it is started.
  // Devices that a service that runs has to have; empty: any.
  std::vector<Device> asked_devices;
  // Group that the service has to be open to; nullopt: any.
  std::optional<gid_t> socket_group;
};

// Says on stderr if the group cannot reach the folder of the service.
void WarnOfClosedFolder(const std::filesystem::path& state_dir, gid_t group) {
  const auto closed = FindClosedFolder(state_dir, group);
  if (!closed.has_value()) return;
  std::cerr << "fgnn: group " << GroupName(group)
            << " cannot reach the service: " << PrintableText(closed->string())
            << " is closed to it; 'chmod o+x "
            << PrintableText(closed->string())
            << "' opens it, or use another --state-dir\n";
}

struct RunningService {
  std::string headline;
  v1::ServiceInfo info;
};

// Makes a service stay that ends when idle. Unavailable: it has just ended.
absl::Status Keep(ServiceClient& client, v1::ServiceInfo& info) {
  const absl::Status kept = client.KeepRunning();
  if (absl::IsUnavailable(kept)) {
    FGNN_RETURN_IF_ERROR(WaitUntilGone(info.pid(), DeadlineIn(kUpEndTimeout)));
  }
  if (kept.ok()) info.set_exits_when_idle(false);
  return kept;
}

// Finds the service of the folder, and makes it stay if it ends when idle;
// starts one where none runs. Unavailable: the service that was found has just
// ended.
absl::StatusOr<RunningService> FindOrStart(const UpRequest& request) {
  const ServiceStart& start = request.start;
  absl::StatusOr<ServiceClient> client =
      ServiceClient::Connect({.state_dir = start.state_dir});
  bool is_found = client.ok();
  std::string headline = "a service runs already";
  // No service runs, or it was about to end.
  if (absl::IsUnavailable(client.status())) {
    FGNN_RETURN_IF_ERROR(CheckGpusAreHere(start.devices, CountGpusHere));
    FGNN_ASSIGN_OR_RETURN(const std::optional<pid_t> started,
                          StartServiceUnlessOthersDo(start));
    is_found = !started.has_value();
    if (!is_found) headline = "the service runs";
    client = ServiceClient::Connect({.state_dir = start.state_dir});
  }
  FGNN_RETURN_IF_ERROR(client.status());
  FGNN_ASSIGN_OR_RETURN(v1::ServiceInfo info, client->GetService());
  if (!request.asked_devices.empty()) {
    FGNN_RETURN_IF_ERROR(
        CheckSameDevices(NamesOf(request.asked_devices), info));
  }
  if (request.socket_group.has_value()) {
    FGNN_RETURN_IF_ERROR(CheckSameGroup(*request.socket_group, info));
  }
  if (is_found && !start.http.empty()) {
    FGNN_RETURN_IF_ERROR(CheckSameHttp(start.http, info));
  }
  if (is_found) FGNN_RETURN_IF_ERROR(CheckNoRules(start.rules, info));
  if (info.exits_when_idle()) {
    FGNN_RETURN_IF_ERROR(Keep(*client, info));
    headline = "a service that was to end when idle runs, and stays now";
  }
  return RunningService{absl::StrCat(headline, ", pid ", info.pid()),
                        std::move(info)};
}

struct UpFlags {
  // What the service is started with, but for the devices and the rules.
  ServiceStart start;
  std::vector<std::string> devices;
  std::vector<std::string> dataset_roots;
  std::vector<std::string> run_roots;
  std::optional<uint32_t> max_jobs_per_user;
};

// An unset variable of a script gives an empty word.
absl::Status CheckRoots(const char* flag,
                        const std::vector<std::string>& roots) {
  for (const std::string& root : roots) {
    if (root.empty()) {
      return absl::InvalidArgumentError(
          absl::StrCat(flag, " is empty; name a folder"));
    }
  }
  return absl::OkStatus();
}

// Returns the words for the scheduler, which works in another folder.
std::vector<std::string> RulesOf(const UpFlags& flags) {
  std::vector<std::string> words;
  const auto add = [&words](const char* flag, const std::string& value) {
    words.insert(words.end(), {flag, value});
  };
  for (const std::string& root : flags.dataset_roots) {
    add("--dataset-root", std::filesystem::absolute(root).string());
  }
  for (const std::string& root : flags.run_roots) {
    add("--run-root", std::filesystem::absolute(root).string());
  }
  if (flags.max_jobs_per_user.has_value()) {
    add("--max-jobs-per-user", absl::StrCat(*flags.max_jobs_per_user));
  }
  return words;
}

// A slip is reported before anything starts.
absl::StatusOr<UpRequest> ReadUpFlags(const UpFlags& flags,
                                      const CommandContext& context) {
  UpRequest request;
  ServiceStart& start = request.start = flags.start;
  FGNN_RETURN_IF_ERROR(CheckRoots("--dataset-root", flags.dataset_roots));
  FGNN_RETURN_IF_ERROR(CheckRoots("--run-root", flags.run_roots));
  start.rules = RulesOf(flags);
  FGNN_ASSIGN_OR_RETURN(start.devices, DevicesOfFlag(flags.devices));
  if (!flags.devices.empty()) request.asked_devices = start.devices;
  if (!start.socket_group.empty()) {
    const absl::StatusOr<gid_t> group = FindOwnGroup(start.socket_group);
    if (!group.ok()) return Annotate(group.status(), "--socket-group");
    request.socket_group = *group;
    start.socket_group = absl::StrCat(*group);
  }
  start.state_dir = std::filesystem::absolute(context.place.state_dir);
  return request;
}

absl::Status Up(const UpFlags& flags, const CommandContext& context) {
  FGNN_ASSIGN_OR_RETURN(const UpRequest request, ReadUpFlags(flags, context));
  absl::StatusOr<RunningService> service = FindOrStart(request);
  if (absl::IsUnavailable(service.status())) service = FindOrStart(request);
  FGNN_RETURN_IF_ERROR(service.status());
  if (request.socket_group.has_value()) {
    WarnOfClosedFolder(request.start.state_dir, *request.socket_group);
  }
  PrintService(context, service->headline, service->info);
  return absl::OkStatus();
}

// Adds the flags that count for a service that is started.
void AddRuleFlags(const Command& up, UpFlags& flags) {
  up.AddOption("--dataset-root", flags.dataset_roots,
               "Jobs may name datasets and models of this folder; may be given "
               "several times; default: of any folder")
      .Takes("DIR")
      .OneWordEach();
  up.AddOption("--run-root", flags.run_roots,
               "Jobs may name run folders in this folder; may be given "
               "several times; default: in any folder; runs/ of the state "
               "folder is one always")
      .Takes("DIR")
      .OneWordEach();
  up.AddOption("--max-jobs-per-user", flags.max_jobs_per_user,
               "Most jobs of one user that have not ended; default: 1000; root "
               "and the service's user have no limit")
      .Takes("N");
}

}  // namespace

void AddUpCommand(Command app, CommandContext& context) {
  const Command up =
      app.AddSubcommand("up",
                        "Start the service on this machine; one that runs "
                        "stays, also if it was to end after its last job");
  context.places["up"] = CommandPlace::kThisMachine;
  UpFlags& flags = OnRun(up, context, &Up);
  up.AddOption("--devices", flags.devices,
               "Where daemons run: cpu:0, cpu:0-3, cuda:0; several apart by "
               "spaces; default: all cores as one device, or those of the "
               "service that runs")
      .Takes("DEVICE");
  up.AddOption("--socket-group", flags.start.socket_group,
               "Open the service to the users of this group, who may submit "
               "jobs and see all; default: your own group, or that of the "
               "service that runs")
      .Takes("GROUP");
  const Option http =
      up.AddOption("--http", flags.start.http,
                   "Serve pages for browsers and Prometheus on this address, "
                   "e.g. 127.0.0.1:9470; a port alone is one of 127.0.0.1")
          .Takes("[HOST:]PORT");
  up.AddFlag("--http-public", flags.start.http_is_public,
             "Allow --http an address that other machines reach; whoever "
             "reaches it reads all jobs")
      .Needs(http);
  up.AddFlag("--log-json", flags.start.log_json,
             "Log a JSON object a line; counts for a service that is started");
  AddRuleFlags(up, flags);
}

}  // namespace fgnn
