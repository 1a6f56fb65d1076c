#include "tools/fgnn/service/devices_for_job.h"

#include <algorithm>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "shared/base/status.h"
#include "shared/device/device.h"
#include "tools/fgnn/service/program.h"
#include "tools/fgnn/service/trainer_profile.h"

namespace fgnn {
namespace {

const std::string kGpu(WordOf(DeviceKind::kCuda));

// Returns the least number of devices that the job has on this machine. Over
// several hosts, others may have all but one.
size_t Least(const v1::JobSpec& spec) {
  const v1::DeviceRequest& request = spec.device_request();
  return request.has_min() && spec.hosts().max() <= 1 ? request.min() : 1;
}

size_t Most(const v1::JobSpec& spec) {
  const v1::DeviceRequest& request = spec.device_request();
  return std::max<size_t>({Least(spec), request.min(), request.max()});
}

absl::StatusOr<std::vector<std::string>> Gpus(const v1::JobSpec& spec,
                                              const GpuCounter& count_gpus) {
  const absl::StatusOr<size_t> has = count_gpus();
  const size_t min = Least(spec);
  if (!has.ok() || *has < min) {
    return absl::InvalidArgumentError(absl::StrCat(
        "devices: needs ", min, min == 1 ? " GPU, " : " GPUs, ",
        has.ok()
            ? absl::StrCat("this machine has ", *has, "; ask for fewer")
            : absl::StrCat("but none can be used: ", MessageOf(has.status())),
        ", or ask for cores (kind: cpu)"));
  }
  std::vector<std::string> devices;
  for (size_t i = 0; i < std::min(*has, Most(spec)); ++i) {
    devices.push_back(absl::StrCat(kGpu, ":", i));
  }
  return devices;
}

absl::StatusOr<std::vector<std::string>> Parts(const v1::JobSpec& spec) {
  FGNN_ASSIGN_OR_RETURN(const Device all, ParseDevice(AllCoresDevice()));
  const size_t min = Least(spec);
  const size_t num_parts = std::min(Most(spec), all.cores.size());
  if (min > num_parts) {
    return absl::InvalidArgumentError(absl::StrCat(
        "devices: needs ", min, ", this machine has ", num_parts,
        num_parts == 1 ? " core: " : " cores: ", all.name, "; ask for fewer"));
  }
  std::vector<std::string> devices;
  for (size_t i = 0; i < num_parts; ++i) {
    const auto bound = [&](size_t part) {
      return all.cores.begin() +
             static_cast<ptrdiff_t>(part * all.cores.size() / num_parts);
    };
    devices.push_back(DeviceName({bound(i), bound(i + 1)}));
  }
  return devices;
}

}  // namespace

absl::StatusOr<size_t> CountGpusHere() {
  FGNN_ASSIGN_OR_RETURN(const auto sampler, FindProgram("fgnn-sampler"));
  return CountGpus(sampler);
}

absl::StatusOr<std::vector<Device>> DevicesForJob(
    const v1::JobSpec& spec, const GpuCounter& count_gpus) {
  std::vector<std::string> names = {spec.devices().begin(),
                                    spec.devices().end()};
  if (spec.device_request().kind() == kGpu) {
    FGNN_ASSIGN_OR_RETURN(names, Gpus(spec, count_gpus));
  } else if (spec.has_device_request()) {
    FGNN_ASSIGN_OR_RETURN(names, Parts(spec));
  } else if (names.empty()) {
    names.push_back(AllCoresDevice());
  }
  std::vector<Device> devices;
  for (const std::string& name : names) {
    absl::StatusOr<Device> device = ParseDevice(name);
    if (!device.ok()) return Annotate(device.status(), "devices");
    devices.push_back(*std::move(device));
  }
  return devices;
}

}  // namespace fgnn
