#include "scheduler/planning/role_note.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "scheduler/planning/placement.h"
#include "shared/device/device.h"

namespace fgnn {
namespace {

// Factor between the two rates that is worth a line.
constexpr double kWorthALine = 1.5;

}  // namespace

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
