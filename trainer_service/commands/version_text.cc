#include "trainer_service/commands/version_text.h"

#include "absl/strings/str_cat.h"
#include "shared/build/build_facts.h"
#include "trainer_service/nn/torch/torch_library.h"

namespace fgnn {

std::string TorchText() { return absl::StrCat("libtorch ", TorchRelease()); }

std::string VersionText(std::string_view version) {
  return absl::StrCat(std::string(version), "\n", TorchText(), "\n",
                      BuildFacts());
}

}  // namespace fgnn
