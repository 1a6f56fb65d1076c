#include "shared/device/gpu_count.h"

#include <optional>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "shared/base/status.h"

namespace fgnn {

std::string WhyGpuIsMissing(int index, const absl::StatusOr<size_t>& count) {
  if (!count.ok()) {
    return absl::StrCat("no GPU can be used: ", MessageOf(count.status()));
  }
  if (static_cast<size_t>(index) < *count) return "";
  if (*count == 0) return "this machine has no GPU";
  if (*count == 1) return "this machine has 1 GPU, cuda:0";
  return absl::StrCat("this machine has ", *count,
                      " GPUs, cuda:0 to cuda:", *count - 1);
}

absl::StatusOr<size_t> ParseGpuCount(int exit_code, absl::string_view output) {
  output = absl::StripAsciiWhitespace(output);
  // Log lines come before it.
  const absl::string_view line = output.substr(output.rfind('\n') + 1);
  if (exit_code == 0) {
    const std::vector<std::string> gpus =
        absl::StrSplit(line, "; ", absl::SkipWhitespace());
    return gpus.size();
  }
  return absl::UnavailableError(
      line.empty() ? absl::StrCat("fgnn-sampler gpus ended with ", exit_code)
                   : std::string(absl::StripPrefix(line, "fgnn: ")));
}

absl::Status CheckGpusAreHere(const std::vector<Device>& devices,
                              const GpuCounter& count_gpus) {
  std::optional<absl::StatusOr<size_t>> count;
  for (const Device& device : devices) {
    if (device.kind != DeviceKind::kCuda) continue;
    if (!count.has_value()) count = count_gpus();
    const std::string why = WhyGpuIsMissing(device.index, *count);
    if (why.empty()) continue;
    return absl::InvalidArgumentError(
        absl::StrCat("devices: ", device.name, ": ", why,
                     "; name another device, e.g. ", AllCoresDevice()));
  }
  return absl::OkStatus();
}

}  // namespace fgnn
