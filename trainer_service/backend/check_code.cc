#include "trainer_service/backend/check_code.h"

#include "absl/strings/str_cat.h"
#include "shared/base/status.h"
#include "shared/telemetry/log.h"

namespace fgnn {

std::string WarningOfOtherCode(const CheckpointInfo& info,
                               const ModelOptions& model,
                               uint32_t code_crc32c) {
  if (info.code_crc32c == code_crc32c) return "";
  return absl::StrCat("the weights were trained with other code than ",
                      model.plugin.empty()
                          ? absl::StrCat("model.file ", model.file)
                          : absl::StrCat("model.plugin '", model.plugin, "'"),
                      " is now");
}

absl::Status CheckCode(const CheckpointInfo& info, const ModelOptions& model,
                       const std::vector<ParameterInfo>& parameters,
                       uint32_t code_crc32c) {
  FGNN_RETURN_IF_ERROR(CheckParameters(info, parameters));
  const std::string warning = WarningOfOtherCode(info, model, code_crc32c);
  if (!warning.empty()) LogWarning("{}", warning);
  return absl::OkStatus();
}

}  // namespace fgnn
