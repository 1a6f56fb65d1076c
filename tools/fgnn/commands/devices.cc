// devices, switch.
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/types/span.h"
#include "shared/base/files/file.h"
#include "shared/base/status.h"
#include "shared/base/units.h"
#include "tools/fgnn/commands/commands.h"
#include "tools/fgnn/commands/job_help.h"
#include "tools/fgnn/reports/epoch_metrics.h"
#include "tools/fgnn/reports/message_json.h"
#include "tools/fgnn/reports/print_report.h"
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

std::string MillisecondsOrDash(double ms) {
  return ms > 0 ? absl::StrFormat("%.2f ms", ms) : "-";
}

// Returns the last whole line of a run's metrics. Returns nullopt before the
// first epoch has ended, or if this user may not read them.
std::optional<EpochMetrics> LastEpoch(const std::filesystem::path& run_dir) {
  constexpr size_t kMostBytes = 1 << 20;
  const auto text = ReadFileEnd(run_dir / "metrics.jsonl", kMostBytes);
  if (!text.ok()) return std::nullopt;
  const size_t end = text->rfind('\n');
  if (end == std::string::npos || end == 0) return std::nullopt;
  const size_t before = text->rfind('\n', end - 1);
  const size_t first = before == std::string::npos ? 0 : before + 1;
  auto line = EpochMetrics::parse(text->substr(first, end - first), nullptr,
                                  /*allow_exceptions=*/false);
  if (!line.is_object() || !line.contains("stages")) return std::nullopt;
  return line;
}

// Adds what the service does not know of a device on which samplers and
// trainers work at once: batches of its executors, and the times of the last
// epoch.
void FillTogether(const v1::Job& job, v1::Device* device) {
  for (const v1::Executor& executor : job.progress().executors()) {
    if (executor.device() != device->name()) continue;
    if (executor.role() == "sampler") {
      device->set_sampled(device->sampled() + executor.batches());
    } else if (executor.role() == "trainer") {
      device->set_trained(device->trained() + executor.batches());
    }
  }
  const std::optional<EpochMetrics> epoch = LastEpoch(job.run_dir());
  if (!epoch.has_value()) return;
  const double batches = epoch->value("batches", 0.0);
  if (batches <= 0) return;
  const auto milliseconds = [&](const char* stage) {
    return 1e3 * (*epoch)["stages"].value(stage, 0.0) / batches;
  };
  device->set_sample_ms(milliseconds("sample"));
  device->set_train_ms(milliseconds("extract") + milliseconds("train"));
}

std::string DeviceTableText(const v1::ListDevicesResponse& devices) {
  TextTable table({"device", "job", "plan", "works", "Ts", "Tt", "Tt'",
                   "sampled", "trained", "wakes", "busy"},
                  {4, 5, 6, 7, 8, 9, 10});
  for (const v1::Device& device : devices.devices()) {
    const bool takes_turns =
        !device.plan().empty() && device.plan() != "together";
    const auto count = [&](uint64_t number) {
      return device.plan().empty() ? "-" : FormatCount(number);
    };
    table.AddRow(
        {device.name(), OrDash(device.job_id()),
         absl::StrCat(OrDash(device.plan()),
                      device.by_hand() ? " (by hand)" : ""),
         OrDash(device.works()), MillisecondsOrDash(device.sample_ms()),
         MillisecondsOrDash(device.train_ms()),
         MillisecondsOrDash(device.standby_ms()), count(device.sampled()),
         count(device.trained()),
         takes_turns ? FormatCount(device.wakes()) : "-",
         takes_turns ? absl::StrFormat("%.0f %%", 100 * device.busy()) : "-"});
  }
  return table.ToString();
}

// Returns nothing if no link was measured.
std::string LinkTableText(const v1::ListDevicesResponse& devices) {
  if (devices.links().empty()) return "";
  TextTable table({"host", "calls", "round trip", "rate", "clock", "error"},
                  {2, 3, 4});
  for (const v1::HostLink& link : devices.links()) {
    if (!link.error().empty()) {
      table.AddRow({link.from(), link.to(), "-", "-", "-", link.error()});
      continue;
    }
    table.AddRow(
        {link.from(), link.to(), MillisecondsOrDash(link.round_trip_ms()),
         link.bytes_per_second() > 0
             ? absl::StrFormat("%.0f MB/s", link.bytes_per_second() / 1e6)
             : "-",
         absl::StrFormat("%+.2f ms", link.clock_offset_ms())});
  }
  return absl::StrCat("\n", table.ToString());
}

absl::Status ListDevices(const CommandContext& context) {
  FGNN_ASSIGN_OR_RETURN(ServiceClient client,
                        ServiceClient::Connect(context.place));
  FGNN_ASSIGN_OR_RETURN(auto devices, client.ListDevices());
  for (v1::Device& device : *devices.mutable_devices()) {
    if (device.plan() != "together") continue;
    const absl::StatusOr<v1::Job> job = client.GetJob(device.job_id());
    if (job.ok()) FillTogether(*job, &device);
  }
  PrintAnswer(ToJson(devices),
              absl::StrCat(DeviceTableText(devices), LinkTableText(devices)),
              context);
  return absl::OkStatus();
}

absl::Status Switch(const SwitchFlags& flags, const CommandContext& context) {
  FGNN_ASSIGN_OR_RETURN(ServiceClient client,
                        ServiceClient::Connect(context.place));
  v1::SwitchDeviceRequest request;
  request.set_job_id(flags.job_id);
  request.set_device(flags.device);
  request.set_role(flags.role);
  FGNN_ASSIGN_OR_RETURN(const v1::Device device, client.SwitchDevice(request));
  PrintAnswer(ToJson(device),
              absl::StrCat(device.name(), " of job ", device.job_id(), ": ",
                           device.plan(),
                           device.by_hand() ? ", by hand\n" : ", as planned\n"),
              context);
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
  SwitchFlags& flags = OnRun(change, context, &Switch);
  change.AddOption("DEVICE", flags.device, "Device, as 'fgnn devices' names it")
      .Required()
      .Takes("DEVICE");
  change
      .AddOption("ROLE", flags.role,
                 "Role: sampler, trainer, or auto, as the planner says")
      .Required()
      .OneOf({"sampler", "trainer", "auto"});
  change
      .AddOption(
          "--job", flags.job_id,
          std::string(kJobHelp) + "; default: the one that has the device")
      .Takes("JOB");
}

}  // namespace fgnn
