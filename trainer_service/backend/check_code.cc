#include "trainer_service/backend/check_code.h"

#include "absl/strings/str_cat.h"
#include "shared/base/status.h"
#include "shared/telemetry/log.h"

namespace fgnn {

absl::Status CheckCode(const CheckpointInfo& info, const ModelOptions& model,
                       const std::vector<ParameterInfo>& parameters,
                       uint32_t code_crc32c) {
  FGNN_RETURN_IF_ERROR(CheckParameters(info, parameters));
  if (info.code_crc32c != code_crc32c) {
    LogWarning("the weights were trained with other code than {} is now",
               model.plugin.empty()
                   ? absl::StrCat("model.file ", model.file)
                   : absl::StrCat("model.plugin '", model.plugin, "'"));
  }
  return absl::OkStatus();
}

}  // namespace fgnn
