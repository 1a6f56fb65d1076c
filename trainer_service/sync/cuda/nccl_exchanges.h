// The exchanges of a program whose trainer is a GPU. A build without CUDA
// links the file that says so in its place.
#ifndef FGNN_TRAINER_SERVICE_SYNC_CUDA_NCCL_EXCHANGES_H_
#define FGNN_TRAINER_SERVICE_SYNC_CUDA_NCCL_EXCHANGES_H_

#include "trainer_service/sync/exchange_factory.h"

namespace fgnn {

// Opens NCCL for the first job with training.sync nccl. `device`: the GPU's
// number.
ExchangeFactory NcclExchanges(int device);

}  // namespace fgnn

#endif  // FGNN_TRAINER_SERVICE_SYNC_CUDA_NCCL_EXCHANGES_H_
