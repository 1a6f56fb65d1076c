// fgnn-sampler: the daemon, or one command. This program chooses the samplers
// of its device.
#include <csignal>
#include <iostream>
#include <memory>
#include <string>

#include "absl/strings/str_cat.h"
#include "sampler_service/daemon/sampler_daemon.h"
#include "sampler_service/job/job_profile.h"
#include "sampler_service/job/job_sampling.h"
#include "sampler_service/rpc/profile_json.h"
#include "sampler_service/sampling/cpu/cpu_device_samplers.h"
#include "sampler_service/sampling/cuda/cuda_device_samplers.h"
#include "shared/base/error_json.h"
#include "shared/base/files/descriptor_limit.h"
#include "shared/base/standard_output.h"
#include "shared/base/status.h"
#include "shared/base/threads/exceptions.h"
#include "shared/base/threads/signal_waiter.h"
#include "shared/build/build_facts.h"
#include "shared/command_line/command_line.h"
#include "shared/config/state_dir.h"
#include "shared/device/device.h"
#include "shared/telemetry/json_log.h"
#include "shared/telemetry/log.h"

namespace {

// Descriptors that a sampler of one job opens.
constexpr uint64_t kDescriptors = 24;

// Volatile, so that the text stands in the program's file and not in code. A
// fault test changes the text in the file.
const char* const volatile kVersion = FGNN_VERSION;

absl::StatusOr<std::unique_ptr<fgnn::DeviceSamplers>> OpenSamplers(
    const fgnn::Device& device) {
  if (device.kind == fgnn::DeviceKind::kCuda) {
    return fgnn::OpenCudaSamplers(device);
  }
  return fgnn::OpenCpuSamplers(device);
}

// Measures a job's sampling on a device: what `fgnn plan` asks for.
absl::StatusOr<std::string> Profile(const std::string& request,
                                    const fgnn::ExecutorDaemonOptions& where) {
  FGNN_ASSIGN_OR_RETURN(const fgnn::Device device,
                        fgnn::ParseDevice(where.device));
  FGNN_RETURN_IF_ERROR(fgnn::PinThisThread(device));
  FGNN_ASSIGN_OR_RETURN(const std::unique_ptr<fgnn::DeviceSamplers> samplers,
                        OpenSamplers(device));
  return fgnn::AnswerSamplingProfile(
      request,
      [&](const fgnn::JobSpec& spec,
          uint32_t num_batches) -> absl::StatusOr<fgnn::SamplingProfile> {
        FGNN_ASSIGN_OR_RETURN(
            const fgnn::JobSampling job,
            fgnn::OpenJobSampling(
                spec,
                {.num_threads = static_cast<uint32_t>(device.cores.size()),
                 .plugins = fgnn::PluginFolder(where.state_dir),
                 .state_dir = where.state_dir,
                 .factory = samplers->ForJob()}));
        return fgnn::ProfileJob(spec, job, *samplers, num_batches, nullptr);
      });
}

// Prints the profile, or the error as JSON. Returns the exit code.
int AnswerProfile(const std::string& request,
                  const fgnn::ExecutorDaemonOptions& where) {
  absl::StatusOr<std::string> answer;
  const absl::Status status = fgnn::CatchExceptions([&] {
    answer = Profile(request, where);
    return answer.status();
  });
  const int code = fgnn::ExitCode(status);
  std::cout << (status.ok() ? *answer : fgnn::ErrorJson(status, code)) << "\n";
  const absl::Status written = fgnn::FlushStandardOutput();
  return written.ok() ? code : fgnn::ExitCode(written);
}

// Prints what `fgnn doctor` shows. Returns the exit code.
int NameGpus() {
  const absl::StatusOr<std::string> gpus = fgnn::DescribeGpus();
  absl::Status status = gpus.status();
  if (gpus.ok()) {
    std::cout << *gpus << "\n";
    status = fgnn::FlushStandardOutput();
  }
  if (status.ok()) return 0;
  std::cerr << "fgnn: " << fgnn::MessageOf(fgnn::InOneLine(status)) << "\n";
  return fgnn::ExitCode(status);
}

}  // namespace

int main(int argc, char** argv) {
  fgnn::ExecutorDaemonOptions options;
  options.version = kVersion;
  fgnn::CommandLine line("FGNN's sampler: a daemon, or one command",
                         "fgnn-sampler");
  line.SetVersion(absl::StrCat(options.version, "\n", fgnn::BuildFacts()));
  const fgnn::Command app = line.root();
  app.AddOption("--name", options.name,
                "Its name; default: sampler.N, where N is its first core, or "
                "sampler.cudaN");
  app.AddOption("--device", options.device,
                "Its device, e.g. cpu:0-3 or cuda:0");
  app.AddOption("--state-dir", options.state_dir, "The service's folder");
  bool log_json = false;
  app.AddFlag("--log-json", log_json, "Log a JSON object a line");
  const fgnn::Command gpus =
      app.AddSubcommand("gpus", "Name the GPUs of this machine");
  std::string request;
  const fgnn::Command profile =
      app.AddSubcommand("profile", "A job's needs, as JSON");
  profile.AddOption("--request", request, "ProfileSamplingRequest as JSON")
      .Required();
  profile.AddOption("--device", options.device, "Cores, or a GPU").Required();
  if (const auto code = line.ParseMain(argc, argv)) return *code;
  if (gpus.IsChosen()) return NameGpus();
  if (profile.IsChosen()) {
    fgnn::InitLog("fgnn-sampler");
    return AnswerProfile(request, options);
  }
  const absl::Status named = fgnn::NameByDevice("sampler", options);
  fgnn::InitLog(options.name.empty() ? "fgnn-sampler" : options.name);
  if (log_json) fgnn::LogAsJson();
  if (!named.ok()) fgnn::LogError("{}", fgnn::MessageOf(named));
  if (!named.ok()) return fgnn::ExitCode(named);
  fgnn::RaiseDescriptorLimit();
  // Made before any thread starts, so that every thread inherits the signal
  // mask.
  const fgnn::SignalWaiter stop({SIGINT, SIGTERM});
  const absl::Status status = fgnn::CatchExceptions([&] {
    FGNN_RETURN_IF_ERROR(
        fgnn::CheckDescriptorLimit(options.name, kDescriptors));
    const auto daemon =
        fgnn::SamplerDaemon::Start(options, OpenSamplers, &stop);
    return daemon.ok() ? (*daemon)->ServeUntilStopped() : daemon.status();
  });
  if (!status.ok()) fgnn::LogError("{}", fgnn::MessageOf(status));
  return fgnn::DaemonExitCode(status);
}
