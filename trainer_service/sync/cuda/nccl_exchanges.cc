#include "trainer_service/sync/cuda/nccl_exchanges.h"

#include "shared/base/status.h"
#include "trainer_service/sync/cuda/nccl_exchange.h"
#include "trainer_service/sync/cuda/nccl_library.h"

namespace fgnn {

ExchangeFactory NcclExchanges(int device) {
  return NcclExchangesWith(OpenNccl, device);
}

absl::StatusOr<std::string> NameNccl() {
  FGNN_ASSIGN_OR_RETURN(const nccl::Api api, OpenNccl());
  return NameOf(api);
}

}  // namespace fgnn
