#include "shared/rpc/grpc_address.h"

#include <grpc/support/log.h>

#include <cctype>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "shared/base/clock.h"
#include "shared/telemetry/line_limit.h"
#include "shared/telemetry/log.h"

namespace fgnn {

std::string GrpcAddress(const std::filesystem::path& socket_path) {
  std::string address = "unix:";
  for (const char c : socket_path.string()) {
    const auto byte = static_cast<unsigned char>(c);
    if (std::isalnum(byte) != 0 || std::strchr("/._-~+=:@,", c) != nullptr) {
      address += c;
    } else {
      absl::StrAppendFormat(&address, "%%%02X", byte);
    }
  }
  return address;
}

void RouteGrpcLog() {
  gpr_set_log_verbosity(GPR_LOG_SEVERITY_ERROR);
  gpr_set_log_function([](gpr_log_func_args* line) {
    // gRPC's log is one for the process, and so is the limit. Strangers at a
    // port can cause a line each.
    static LineLimit limit;
    if (limit.Ask(MonotonicClock::now()).has_value()) {
      LogWarning("grpc: {}", line->message);
    }
  });
}

}  // namespace fgnn
