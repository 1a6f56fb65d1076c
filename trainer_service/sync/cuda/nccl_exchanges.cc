#include "trainer_service/sync/cuda/nccl_exchanges.h"

#include "trainer_service/sync/cuda/nccl_exchange.h"
#include "trainer_service/sync/cuda/nccl_library.h"

namespace fgnn {

ExchangeFactory NcclExchanges(int device) {
  return NcclExchangesWith(OpenNccl, device);
}

}  // namespace fgnn
