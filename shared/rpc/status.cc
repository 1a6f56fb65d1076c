#include "shared/rpc/status.h"

#include <string>

#include "shared/base/printable_text.h"
#include "shared/base/status.h"

namespace fgnn {
namespace {

// gRPC refuses metadata beyond 8 KiB. A message of ours comes near that only if
// it quotes a caller's own text.
constexpr size_t kMaxMessageLength = 4096;

}  // namespace

grpc::Status ToGrpc(const absl::Status& status) {
  if (status.ok()) return grpc::Status::OK;
  return grpc::Status(static_cast<grpc::StatusCode>(status.code()),
                      PrintableText(MessageOf(status), kMaxMessageLength));
}

absl::Status FromGrpc(const grpc::Status& status) {
  if (status.ok()) return absl::OkStatus();
  return absl::Status(static_cast<absl::StatusCode>(status.error_code()),
                      status.error_message());
}

}  // namespace fgnn
