#include "trainer_service/commands/version_text.h"

#include "absl/strings/str_cat.h"
#include "trainer_service/nn/cpu/kernels/products.h"

namespace fgnn {

std::string VersionText(std::string_view version) {
  return absl::StrCat(std::string(version), "\n", ProductsLibrary());
}

}  // namespace fgnn
