// up, down, status.
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "shared/base/clock.h"
#include "shared/base/json_text.h"
#include "shared/base/status.h"
#include "shared/config/state_dir.h"
#include "shared/device/device.h"
#include "tools/fgnn/commands/commands.h"
#include "tools/fgnn/reports/job_text.h"
#include "tools/fgnn/reports/message_json.h"
#include "tools/fgnn/service/program.h"
#include "tools/fgnn/service/service_client.h"
#include "tools/fgnn/service/service_process.h"

namespace fgnn {
namespace {

constexpr std::chrono::seconds kEndTimeout{60};

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
            << "logs     "
            << LogPath(info.state_dir(), "scheduler").parent_path().string()
            << "\n";
}

// FailedPrecondition: the service has other devices than those asked for.
absl::Status CheckSameDevices(std::vector<std::string> asked,
                              const v1::ServiceInfo& info) {
  std::vector<std::string> has(info.devices().begin(), info.devices().end());
  std::sort(asked.begin(), asked.end());
  std::sort(has.begin(), has.end());
  if (asked == has) return absl::OkStatus();
  return absl::FailedPreconditionError(
      absl::StrCat("a service runs already, pid ", info.pid(), ", on ",
                   absl::StrJoin(has, " "), ", but --devices asks for ",
                   absl::StrJoin(asked, " "),
                   "; end it first with 'fgnn down', or leave --devices out"));
}

absl::Status Up(const std::vector<std::string>& device_names,
                const CommandContext& context) {
  // A slip is reported before anything starts.
  FGNN_ASSIGN_OR_RETURN(const auto devices, DevicesOfFlag(device_names));
  const std::filesystem::path state_dir =
      std::filesystem::absolute(context.state_dir);
  absl::StatusOr<ServiceClient> client = ServiceClient::Connect(state_dir);
  std::string headline = "a service runs already";
  // No service runs, or it was about to end.
  if (absl::IsUnavailable(client.status())) {
    FGNN_RETURN_IF_ERROR(
        StartService({state_dir, devices, /*exit_when_idle=*/false}).status());
    headline = "the service runs";
    client = ServiceClient::Connect(state_dir);
  }
  FGNN_RETURN_IF_ERROR(client.status());
  FGNN_ASSIGN_OR_RETURN(const v1::ServiceInfo info, client->GetService());
  if (!device_names.empty()) {
    FGNN_RETURN_IF_ERROR(CheckSameDevices(devices, info));
  }
  PrintService(context, absl::StrCat(headline, ", pid ", info.pid()), info);
  return absl::OkStatus();
}

absl::Status Down(const CommandContext& context) {
  const std::filesystem::path state_dir =
      std::filesystem::absolute(context.state_dir);
  FGNN_ASSIGN_OR_RETURN(const bool listens, ServiceListens(state_dir));
  if (!listens) {
    if (context.json) {
      std::cout << JsonText(nlohmann::ordered_json({{"stopped", false}}))
                << "\n";
    } else {
      std::cout << "no service runs in " << state_dir.string() << "\n";
    }
    return absl::OkStatus();
  }
  FGNN_ASSIGN_OR_RETURN(ServiceClient client,
                        ServiceClient::Connect(state_dir));
  FGNN_ASSIGN_OR_RETURN(const v1::ServiceInfo info, client.GetService());
  FGNN_RETURN_IF_ERROR(client.Shutdown());
  FGNN_RETURN_IF_ERROR(WaitUntilGone(info.pid(), DeadlineIn(kEndTimeout)));
  if (context.json) {
    std::cout << JsonText(nlohmann::ordered_json(
                     {{"stopped", true}, {"pid", info.pid()}}))
              << "\n";
  } else {
    std::cout << "the service has ended, pid " << info.pid() << "\n";
  }
  return absl::OkStatus();
}

absl::Status ShowStatus(const CommandContext& context) {
  FGNN_ASSIGN_OR_RETURN(ServiceClient client,
                        ServiceClient::Connect(context.state_dir));
  FGNN_ASSIGN_OR_RETURN(const v1::ServiceInfo info, client.GetService());
  if (context.json) {
    std::cout << JsonText(ToJson(info), 2) << "\n";
  } else {
    std::cout << ServiceText(info);
  }
  return absl::OkStatus();
}

}  // namespace

void AddServiceCommands(Command app, CommandContext& context) {
  const Command up =
      app.AddSubcommand("up", "Start the service on this machine");
  const auto devices = std::make_shared<std::vector<std::string>>();
  up.AddOption("--devices", *devices,
               "Where daemons run: cpu:0, cpu:0-3; several apart by spaces; "
               "default: all cores as one device, or those of the service "
               "that runs")
      .Takes("DEVICE");
  up.OnRun([devices, &context] { context.status = Up(*devices, context); });

  app.AddSubcommand("down", "Stop the service; jobs that run are cancelled")
      .OnRun([&context] { context.status = Down(context); });
  app.AddSubcommand("status", "The service, its executors and its jobs")
      .OnRun([&context] { context.status = ShowStatus(context); });
}

}  // namespace fgnn
