// devices, switch.
#include <iostream>
#include <memory>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "shared/base/json_text.h"
#include "shared/base/status.h"
#include "shared/base/units.h"
#include "tools/fgnn/commands/commands.h"
#include "tools/fgnn/commands/job_help.h"
#include "tools/fgnn/reports/message_json.h"
#include "tools/fgnn/reports/text_table.h"
#include "tools/fgnn/service/service_client.h"

namespace fgnn {
namespace {

struct SwitchFlags {
  std::string device;
  std::string role;
  std::string job_id;
};

std::string OrDash(const std::string& text) {
  return text.empty() ? "-" : text;
}

std::string Milliseconds(double ms) {
  return ms > 0 ? absl::StrFormat("%.2f ms", ms) : "-";
}

std::string DeviceTableText(const v1::ListDevicesResponse& devices) {
  TextTable table({"device", "job", "plan", "works", "Ts", "Tt", "Tt'",
                   "sampled", "trained", "wakes", "busy"},
                  {4, 5, 6, 7, 8, 9, 10});
  for (const v1::Device& device : devices.devices()) {
    const bool takes_turns =
        !device.plan().empty() && device.plan() != "together";
    const auto count = [&](uint64_t number) {
      return takes_turns ? FormatCount(number) : "-";
    };
    table.AddRow(
        {device.name(), OrDash(device.job_id()),
         absl::StrCat(OrDash(device.plan()),
                      device.by_hand() ? " (by hand)" : ""),
         OrDash(device.works()), Milliseconds(device.sample_ms()),
         Milliseconds(device.train_ms()), Milliseconds(device.standby_ms()),
         count(device.sampled()), count(device.trained()),
         count(device.wakes()),
         takes_turns ? absl::StrFormat("%.0f %%", 100 * device.busy()) : "-"});
  }
  return table.ToString();
}

absl::Status ListDevices(const CommandContext& context) {
  FGNN_ASSIGN_OR_RETURN(ServiceClient client,
                        ServiceClient::Connect(context.state_dir));
  FGNN_ASSIGN_OR_RETURN(const auto devices, client.ListDevices());
  if (context.json) {
    std::cout << JsonText(ToJson(devices), 2) << "\n";
  } else {
    std::cout << DeviceTableText(devices);
  }
  return absl::OkStatus();
}

absl::Status Switch(const SwitchFlags& flags, const CommandContext& context) {
  FGNN_ASSIGN_OR_RETURN(ServiceClient client,
                        ServiceClient::Connect(context.state_dir));
  v1::SwitchDeviceRequest request;
  request.set_job_id(flags.job_id);
  request.set_device(flags.device);
  request.set_role(flags.role);
  FGNN_ASSIGN_OR_RETURN(const v1::Device device, client.SwitchDevice(request));
  if (context.json) {
    std::cout << JsonText(ToJson(device), 2) << "\n";
  } else {
    std::cout << device.name() << " of job " << device.job_id() << ": "
              << device.plan()
              << (device.by_hand() ? ", by hand\n" : ", as planned\n");
  }
  return absl::OkStatus();
}

}  // namespace

void AddDeviceCommands(Command app, CommandContext& context) {
  app.AddSubcommand("devices",
                    "What each device does, and what its batches take")
      .OnRun([&context] { context.status = ListDevices(context); });

  const Command change = app.AddSubcommand(
      "switch",
      "Have a device of a running job sample or train from now on, also one "
      "that the job has lost");
  const auto flags = std::make_shared<SwitchFlags>();
  change.AddOption("DEVICE", flags->device, "As 'fgnn devices' names it")
      .Required();
  change
      .AddOption("ROLE", flags->role,
                 "sampler, trainer, or auto: as the planner says")
      .Required()
      .OneOf({"sampler", "trainer", "auto"});
  change
      .AddOption(
          "--job", flags->job_id,
          std::string(kJobHelp) + "; default: the one that has the device")
      .Takes("JOB");
  change.OnRun([flags, &context] { context.status = Switch(*flags, context); });
}

}  // namespace fgnn
