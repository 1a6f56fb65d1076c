// Measures the link to another host by AskProbe of fgnn/v1/exchange.proto. Both
// ends of a link include this file.
#ifndef FGNN_TRAINER_SERVICE_RPC_HOST_PROBE_H_
#define FGNN_TRAINER_SERVICE_RPC_HOST_PROBE_H_

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>

#include "absl/status/statusor.h"
#include "shared/measured/host_reach.h"

namespace grpc {
class Channel;
}  // namespace grpc

namespace fgnn {

inline constexpr uint32_t kMostProbeParts = 16;
inline constexpr size_t kProbePartBytes = size_t{512} << 10;

// Returns the microseconds since 1970 by this host's clock.
inline int64_t UnixMicroseconds() {
  return std::chrono::duration_cast<std::chrono::microseconds>(
             std::chrono::system_clock::now().time_since_epoch())
      .count();
}

// See HostLinks::Probe().
absl::StatusOr<LinkQuality> ProbeHost(
    const std::shared_ptr<grpc::Channel>& channel,
    const std::function<bool()>& is_stopped);

}  // namespace fgnn

#endif  // FGNN_TRAINER_SERVICE_RPC_HOST_PROBE_H_
