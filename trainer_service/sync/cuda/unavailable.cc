// Builds without CUDA link this file. Their trainers' back ends refuse GPUs
// before any exchange is made.
#include "absl/status/status.h"
#include "trainer_service/sync/cuda/nccl_exchanges.h"

namespace fgnn {

ExchangeFactory NcclExchanges(int /*device*/) { return nullptr; }

absl::StatusOr<std::string> NameNccl() {
  return absl::FailedPreconditionError(
      "this build has no CUDA, and training.sync nccl is for GPUs; run "
      "'tools/setup --cuda' and build again");
}

}  // namespace fgnn
