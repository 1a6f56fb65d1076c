#include "scheduler/planning/gpu_notes.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "scheduler/planning/placement.h"
#include "shared/base/units.h"
#include "shared/device/device.h"

namespace fgnn {
namespace {

// Usual rates in bytes a second: of a host that adds floats, of a GPU's PCIe
// bus, and between GPUs.
constexpr double kHostRate = 10e9;
constexpr double kBusRate = 20e9;
constexpr double kLinkRate = 50e9;
// Factor between two estimates, or two rates, that is worth a line.
constexpr double kWorthALine = 1.5;
// Seconds that the calls of an exchange take.
constexpr double kCallSeconds = 1e-4;

uint32_t NumGpus(const JobSpec& spec) {
  return static_cast<uint32_t>(std::count_if(
      spec.devices.begin(), spec.devices.end(),
      [](const Device& device) { return device.kind == DeviceKind::kCuda; }));
}

}  // namespace

ExchangeSeconds EstimateExchange(uint64_t num_parameters,
                                 uint32_t batches_per_step) {
  const double bytes = static_cast<double>(num_parameters) * sizeof(float);
  // The gradients are on the GPUs; the host gets their sum.
  return {.steps = batches_per_step * bytes / kHostRate,
          .nccl = bytes / kBusRate + batches_per_step * bytes / kLinkRate +
                  kCallSeconds};
}

std::optional<std::string> NoteOnNccl(const PlanInput& input) {
  const TrainingSpec& training = input.spec.training;
  const uint32_t gpus = NumGpus(input.spec);
  const bool uses_nccl = training.sync == "nccl";
  if (gpus < 2 || (!uses_nccl && training.sync != "steps")) return std::nullopt;
  const ExchangeSeconds seconds = EstimateExchange(
      input.training.num_parameters, training.batches_per_step);
  const double own = uses_nccl ? seconds.nccl : seconds.steps;
  const double other = uses_nccl ? seconds.steps : seconds.nccl;
  if (own < kWorthALine * other) return std::nullopt;
  return absl::StrCat(
      "training.sync ", uses_nccl ? "steps" : "nccl",
      " may be faster: a step's ", training.batches_per_step, " gradients of ",
      FormatBytes(input.training.num_parameters * sizeof(float)),
      absl::StrFormat(" are added in about %.2f ms by the host, and exchanged "
                      "and added in %.2f ms by GPUs",
                      seconds.steps * 1e3, seconds.nccl * 1e3),
      ". That is estimated from usual rates (a host adds 10 GB/s, a GPU's bus "
      "has 20 GB/s and a link between GPUs 50 GB/s), not measured",
      uses_nccl || input.spec.executors == "together"
          ? ""
          : ". nccl needs executors: together");
}

std::optional<std::string> NoteOnRoles(const PlanInput& input) {
  const JobSpec& spec = input.spec;
  const bool only_cores_sample =
      !DevicesThatOnlySample(spec.devices).empty() &&
      KindsWith(ExecutorRole::kSampler, ExecutorsOf(spec)).back() ==
          DeviceKind::kCpu;
  if (!only_cores_sample || !input.training.gpu.has_value()) {
    return std::nullopt;
  }
  const double sampled = input.sampling.seconds_per_batch / spec.num_samplers();
  const double trained = input.training.seconds_per_batch / spec.num_trainers();
  if (sampled < kWorthALine * trained) return std::nullopt;
  return absl::StrCat(
      "GPUs will wait for cores: ",
      absl::StrFormat("cores sample a batch in %.2f ms, and GPUs can train one "
                      "in %.2f ms",
                      sampled * 1e3, trained * 1e3),
      ". executors: factored lets GPUs sample too",
      spec.training.sync == "nccl" ? ", with training.sync: steps" : "",
      ", where that makes epochs shorter; or name more cores");
}

}  // namespace fgnn
