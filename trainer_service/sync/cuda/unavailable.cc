// Builds without CUDA link this file. Their trainers' back ends refuse GPUs
// before any exchange is made.
#include "trainer_service/sync/cuda/nccl_exchanges.h"

namespace fgnn {

ExchangeFactory NcclExchanges(int /*device*/) { return nullptr; }

}  // namespace fgnn
