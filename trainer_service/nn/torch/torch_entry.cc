// The entry of libfgnn_torch.so.
#include <torch/csrc/inductor/aoti_torch/c/shim.h>
#include <torch/version.h>

#include "absl/strings/str_cat.h"
#include "trainer_service/nn/torch/torch_library.h"
#include "trainer_service/nn/torch/torch_model.h"

namespace fgnn {
namespace {

absl::Status CheckRelease() {
  const uint64_t release = aoti_torch_abi_version();
  if (release == TORCH_ABI_VERSION) return absl::OkStatus();
  // The first three bytes are the numbers of the release.
  return absl::FailedPreconditionError(
      absl::StrCat("found release ", release >> 56, ".", release >> 48 & 0xff,
                   ".", release >> 40 & 0xff));
}

}  // namespace
}  // namespace fgnn

extern "C" __attribute__((visibility("default")))
const fgnn::TorchLibrary fgnn_torch_library;
extern "C" const fgnn::TorchLibrary fgnn_torch_library = {
    .version = FGNN_VERSION,
    .check_release = fgnn::CheckRelease,
    .make_model = fgnn::MakeTorchModel};
