#include "scheduler/main/flags.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstdlib>
#include <string>
#include <system_error>
#include <vector>

#include "absl/strings/str_cat.h"
#include "scheduler/files/access/path_rules.h"
#include "scheduler/planning/placement.h"
#include "shared/base/files/unique_fd.h"
#include "shared/base/status.h"
#include "shared/build/build_facts.h"
#include "shared/command_line/command_line.h"
#include "shared/config/device_list.h"
#include "shared/config/socket_group.h"
#include "shared/config/state_dir.h"
#include "shared/rpc/sockets/host_port.h"
#include "shared/telemetry/json_log.h"
#include "shared/telemetry/log.h"

namespace fgnn {
namespace {

constexpr int kWrongUse = 2;

// Words of flags that have to be read.
struct HostWords {
  std::string name;
  std::string exchange;
  std::string join;
  uint32_t exchange_timeout = ExchangeOptions().timeout_seconds;
};

struct FlagWords {
  std::string state_dir;
  std::string devices;
  std::string socket_group;
  std::vector<std::string> dataset_roots;
  std::vector<std::string> run_roots;
  PortWords port;
  std::string http;
  bool http_is_public = false;
  HostWords host;
};

void AddFlags(const Command& app, SchedulerFlags& flags, FlagWords& words) {
  app.AddOption("--state-dir", words.state_dir, "Folder of the service's state")
      .ShowDefault();
  app.AddOption("--devices", words.devices,
                "Devices of jobs that name none, e.g. cpu:0-1,cuda:0; default: "
                "all cores as one device");
  app.AddFlag("--spawn-daemons", flags.options.spawn_daemons,
              "Start samplers and trainers as jobs need them");
  app.AddFlag("--exit-when-idle", flags.options.exit_when_idle,
              "End once no job is queued or running");
  app.AddOption("--socket-group", words.socket_group,
                "Open the service to this group of users, who may submit jobs "
                "and see all; default: the group of this process")
      .Takes("GROUP");
  app.AddOption(
         "--dataset-root", words.dataset_roots,
         "Jobs may name datasets and models of this folder; may be given "
         "several times; default: of any folder. A host that joins looks there "
         "for a dataset by its last name, if it has none at the job's path")
      .Takes("DIR")
      .OneWordEach();
  app.AddOption("--run-root", words.run_roots,
                "Jobs may name run folders in this folder; may be given "
                "several times; default: in any folder; runs/ of the state "
                "folder is one always")
      .Takes("DIR")
      .OneWordEach();
  app.AddOption("--max-jobs-per-user", flags.options.max_jobs_per_user,
                "Most jobs of one user that have not ended; root and the "
                "service's user have no limit")
      .Takes("N")
      .ShowDefault();
  app.AddOption(
         "--listen",
         [&words](const std::string& word) { words.port.listen = word; },
         "Also serve clients on other machines, on this TCP port")
      .Takes("HOST:PORT");
  app.AddOption("--tls-dir", words.port.tls_dir,
                "Folder with server.pem, server.key and ca.pem for --listen; "
                "'fgnn-certificates' makes it")
      .Takes("DIR");
  app.AddOption("--tokens", words.port.tokens,
                "File of the tokens that clients may show instead of "
                "certificates; default: tokens in --tls-dir, if it is there")
      .Takes("FILE");
  app.AddFlag("--insecure", words.port.insecure,
              "Let --listen speak in the clear beyond this machine");
  app.AddOption("--join", words.host.join,
                "Be a member of the service whose scheduler listens there: do "
                "its jobs with this host's devices")
      .Takes("HOST:PORT");
  app.AddOption("--host-name", words.host.name,
                "Name of this host in devices, e.g. host1 of host1/cpu:0; "
                "default: the machine's")
      .Takes("NAME");
  app.AddOption("--exchange", words.host.exchange,
                "Address where other hosts reach this one to trade gradients; "
                "needs host.pem, host.key and ca.pem in --tls-dir")
      .Takes("HOST:PORT");
  app.AddOption("--exchange-timeout", words.host.exchange_timeout,
                "Seconds of silence after which a host that has joined counts "
                "as lost")
      .Takes("N")
      .ShowDefault()
      .Between(1U, 3600U);
  app.AddOption("--http", words.http,
                "Serve pages for browsers and Prometheus on this address, "
                "e.g. 127.0.0.1:9470; a port alone is one of 127.0.0.1; "
                "default: none")
      .Takes("[HOST:]PORT");
  app.AddFlag("--http-public", words.http_is_public,
              "Allow --http an address that other machines reach; whoever "
              "reaches it reads all jobs");
  app.AddFlag("--log-json", flags.options.log_json,
              "Log a JSON object a line; so do the daemons that it starts");
  app.AddOption("--ready-fd", flags.ready_fd,
                "Write \"ready\" to this descriptor when serving, or "
                "\"failed CODE\"");
}

absl::StatusOr<std::optional<HostPort>> ReadHttp(const FlagWords& words) {
  if (words.http.empty()) return std::nullopt;
  const bool is_port =
      words.http.find_first_not_of("0123456789") == std::string::npos;
  const absl::StatusOr<HostPort> address = ParseHostPort(
      is_port ? absl::StrCat("127.0.0.1:", words.http) : words.http);
  if (!address.ok()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "--http '", words.http,
        "' is no [HOST:]PORT; write it like 9470 or 127.0.0.1:9470"));
  }
  FGNN_ASSIGN_OR_RETURN(const bool is_loopback, IsLoopback(address->host));
  if (is_loopback || words.http_is_public) return *address;
  return absl::InvalidArgumentError(absl::StrCat(
      words.http,
      ": other machines may reach this address, and would read all jobs; name "
      "a port of 127.0.0.1, or allow it with --http-public"));
}

// Returns the first label of the machine's name; "head" if that is no name of a
// host.
std::string NameOfMachine() {
  char name[HOST_NAME_MAX + 1] = {};
  if (::gethostname(name, HOST_NAME_MAX) != 0) return "head";
  std::string first = name;
  first.resize(std::min(first.find('.'), first.size()));
  return CheckHostName(first).ok() ? first : "head";
}

absl::Status ReadHostWords(const FlagWords& words, SchedulerOptions& options) {
  const HostWords& host = words.host;
  options.host_name = host.name.empty() ? NameOfMachine() : host.name;
  FGNN_RETURN_IF_ERROR(
      Annotate(CheckHostName(options.host_name), "--host-name"));
  const std::string& tls_dir = words.port.tls_dir;
  if (!host.exchange.empty()) {
    const absl::StatusOr<HostPort> address = ParseHostPort(host.exchange);
    if (!address.ok()) return Annotate(address.status(), "--exchange");
    if (address->port == 0 || address->host == "0.0.0.0" ||
        address->host == "::") {
      return absl::InvalidArgumentError(absl::StrCat(
          "--exchange ", host.exchange,
          " is no address that other hosts can "
          "call; write this host's own, and a port that is open to them"));
    }
    if (tls_dir.empty()) {
      return absl::InvalidArgumentError(
          "--exchange needs --tls-dir with host.pem, host.key and ca.pem; "
          "'fgnn-certificates host' makes them");
    }
    options.exchange =
        ExchangeOptions{.address = *address,
                        .tls_dir = tls_dir,
                        .timeout_seconds = host.exchange_timeout};
  }
  if (host.join.empty()) return absl::OkStatus();
  const absl::StatusOr<HostPort> head = ParseHostPort(host.join);
  if (!head.ok()) return Annotate(head.status(), "--join");
  if (!options.exchange.has_value()) {
    return absl::InvalidArgumentError(
        "--join needs --exchange HOST:PORT, where other hosts reach this one");
  }
  if (!options.spawn_daemons) {
    return absl::InvalidArgumentError(
        "--join needs --spawn-daemons: the daemons of a member are started for "
        "each job");
  }
  if (words.port.listen.value_or("") != "" || !words.http.empty() ||
      options.exit_when_idle) {
    return absl::InvalidArgumentError(
        "--listen, --http and --exit-when-idle are for the head, but --join "
        "makes this host a member; leave them out");
  }
  options.join = *head;
  return absl::OkStatus();
}

absl::Status ReadWords(const FlagWords& words, SchedulerOptions& options) {
  if (words.state_dir.empty()) {
    return absl::InvalidArgumentError("--state-dir is empty");
  }
  std::error_code error;
  options.state_dir = std::filesystem::absolute(words.state_dir, error);
  FGNN_ASSIGN_OR_RETURN(options.devices,
                        DevicesOfFlag(SplitDeviceList(words.devices)));
  FGNN_ASSIGN_OR_RETURN(options.paths.dataset_roots,
                        MakeRoots(words.dataset_roots, "--dataset-root"));
  FGNN_ASSIGN_OR_RETURN(options.paths.run_roots,
                        MakeRoots(words.run_roots, "--run-root"));
  FGNN_RETURN_IF_ERROR(ReadHostWords(words, options));
  if (!options.join.has_value()) {
    FGNN_ASSIGN_OR_RETURN(options.port, ReadPortOptions(words.port));
  }
  absl::StatusOr<std::optional<HostPort>> http = ReadHttp(words);
  if (!http.ok()) return Annotate(http.status(), "--http");
  options.http = *std::move(http);
  if (words.socket_group.empty()) return absl::OkStatus();
  const absl::StatusOr<gid_t> group = FindOwnGroup(words.socket_group);
  if (!group.ok()) return Annotate(group.status(), "--socket-group");
  options.socket_group = *group;
  return absl::OkStatus();
}

}  // namespace

std::optional<SchedulerFlags> ParseFlags(int argc, char** argv,
                                         int& exit_code) {
  CommandLine line(
      "The FGNN scheduler: serves jobs, or joins a service that does.",
      "fgnn-scheduler");
  line.SetVersion(absl::StrCat(FGNN_VERSION, "\n", BuildFacts()));
  const absl::StatusOr<std::filesystem::path> default_state_dir =
      DefaultStateDir(std::getenv("FGNN_STATE_DIR"),
                      std::getenv("XDG_STATE_HOME"), std::getenv("HOME"),
                      ::geteuid() == 0);
  SchedulerFlags flags;
  FlagWords words;
  if (default_state_dir.ok()) words.state_dir = default_state_dir->string();
  AddFlags(line.root(), flags, words);
  if (const auto code = line.ParseMain(argc, argv)) {
    exit_code = *code;
    return std::nullopt;
  }
  const bool has_no_place = words.state_dir.empty() && !default_state_dir.ok();
  const absl::Status read = has_no_place ? default_state_dir.status()
                                         : ReadWords(words, flags.options);
  if (!read.ok()) {
    LogError("{}", MessageOf(read));
    exit_code = kWrongUse;
    return std::nullopt;
  }
  if (flags.options.log_json) LogAsJson();
  std::error_code error;
  flags.options.program_dir =
      std::filesystem::read_symlink("/proc/self/exe", error).parent_path();
  flags.options.version = FGNN_VERSION;
  return flags;
}

absl::Status SayStarted(int fd, const absl::Status& started) {
  if (fd < 0) return started;
  const UniqueFd ready(fd);
  const std::string word =
      started.ok() ? "ready\n"
                   : absl::StrCat("failed ", started.raw_code(), "\n");
  const bool is_said = ::write(fd, word.data(), word.size()) ==
                       static_cast<ssize_t>(word.size());
  if (is_said || !started.ok()) return started;
  return ErrnoToStatus(errno, "write to --ready-fd");
}

}  // namespace fgnn
