// down, status.
#include <sys/types.h>

#include <chrono>
#include <filesystem>
#include <iostream>
#include <optional>

#include "absl/status/statusor.h"
#include "shared/base/clock.h"
#include "shared/base/json_text.h"
#include "shared/base/status.h"
#include "tools/fgnn/commands/commands.h"
#include "tools/fgnn/reports/job_text.h"
#include "tools/fgnn/reports/message_json.h"
#include "tools/fgnn/reports/print_report.h"
#include "tools/fgnn/service/forced_end.h"
#include "tools/fgnn/service/program.h"
#include "tools/fgnn/service/service_client.h"
#include "tools/fgnn/service/service_process.h"

namespace fgnn {
namespace {

constexpr std::chrono::seconds kEndTimeout{60};
// Time for a service that does not answer to end by itself.
constexpr std::chrono::seconds kForcePatience{5};

void PrintEnd(const CommandContext& context, pid_t pid) {
  if (context.json) {
    std::cout << JsonText(
                     nlohmann::ordered_json({{"stopped", true}, {"pid", pid}}))
              << "\n";
  } else {
    std::cout << "the service has ended, pid " << pid << "\n";
  }
}

// Ends what a service left that died, and says so.
absl::Status EndNoService(const CommandContext& context,
                          const std::filesystem::path& state_dir) {
  FGNN_ASSIGN_OR_RETURN(const int num_ended, EndLeftDaemons(state_dir));
  if (context.json) {
    std::cout << JsonText(nlohmann::ordered_json(
                     {{"stopped", false}, {"daemons_ended", num_ended}}))
              << "\n";
    return absl::OkStatus();
  }
  std::cout << "no service runs in " << state_dir.string();
  if (num_ended > 0) {
    std::cout << "; " << num_ended << " daemons of one that died have ended";
  }
  std::cout << "\n";
  return absl::OkStatus();
}

// Asks the service to end, and waits until it has. Returns its pid; nullopt:
// none listens in the folder.
absl::StatusOr<std::optional<pid_t>> AskToEnd(
    const std::filesystem::path& state_dir) {
  FGNN_ASSIGN_OR_RETURN(const bool listens, ServiceListens(state_dir));
  if (!listens) return std::optional<pid_t>();
  FGNN_ASSIGN_OR_RETURN(ServiceClient client,
                        ServiceClient::Connect({.state_dir = state_dir}));
  FGNN_ASSIGN_OR_RETURN(const v1::ServiceInfo info, client.GetService());
  FGNN_RETURN_IF_ERROR(client.Shutdown());
  FGNN_RETURN_IF_ERROR(WaitUntilGone(info.pid(), DeadlineIn(kEndTimeout)));
  return std::optional<pid_t>(info.pid());
}

// A service on another machine ends after its answer; its pid says nothing
// here.
absl::Status EndRemotely(bool by_force, const CommandContext& context) {
  if (by_force) {
    return absl::InvalidArgumentError(
        "--force works on the service's own machine only; leave --server out");
  }
  FGNN_ASSIGN_OR_RETURN(ServiceClient client,
                        ServiceClient::Connect(context.place));
  FGNN_ASSIGN_OR_RETURN(const v1::ServiceInfo info, client.GetService());
  FGNN_RETURN_IF_ERROR(client.Shutdown());
  PrintEnd(context, info.pid());
  return absl::OkStatus();
}

absl::Status Down(const bool& by_force, const CommandContext& context) {
  if (context.place.is_remote()) return EndRemotely(by_force, context);
  const std::filesystem::path state_dir =
      std::filesystem::absolute(context.place.state_dir);
  absl::StatusOr<std::optional<pid_t>> ended = AskToEnd(state_dir);
  // A refusal is an answer.
  const bool was_refused = absl::IsPermissionDenied(ended.status());
  const bool has_ended = ended.ok() && ended->has_value();
  if (by_force && !has_ended && !was_refused) {
    ended = EndByForce(state_dir, kForcePatience);
  }
  FGNN_RETURN_IF_ERROR(ended.status());
  if (!ended->has_value()) return EndNoService(context, state_dir);
  PrintEnd(context, **ended);
  return absl::OkStatus();
}

absl::Status ShowStatus(const CommandContext& context) {
  FGNN_ASSIGN_OR_RETURN(ServiceClient client,
                        ServiceClient::Connect(context.place));
  FGNN_ASSIGN_OR_RETURN(const v1::ServiceInfo info, client.GetService());
  PrintAnswer(ToJson(info), ServiceText(info), context);
  return absl::OkStatus();
}

}  // namespace

void AddServiceCommands(Command app, CommandContext& context) {
  const Command down = app.AddSubcommand(
      "down", "Stop the service; jobs that run are cancelled");
  down.AddFlag("--force", OnRun(down, context, &Down),
               "End a service that does not answer, by the pid in its lock; "
               "its jobs go on after the next 'fgnn up'");

  app.AddSubcommand("status", "The service, its executors and its jobs")
      .OnRun([&context] { context.status = ShowStatus(context); });
}

}  // namespace fgnn
