#include "tools/fgnn/service/service_place.h"

namespace fgnn {
namespace {

bool IsSet(const char* value) { return value != nullptr && *value != '\0'; }

}  // namespace

std::filesystem::path DefaultTlsDir(const char* fgnn_tls_dir,
                                    const char* xdg_config_home,
                                    const char* home) {
  if (IsSet(fgnn_tls_dir)) return fgnn_tls_dir;
  if (IsSet(xdg_config_home)) {
    return std::filesystem::path(xdg_config_home) / "fgnn";
  }
  if (IsSet(home)) return std::filesystem::path(home) / ".config" / "fgnn";
  return {};
}

}  // namespace fgnn
