// The exchanges of a program whose trainer is a GPU. A build without CUDA
// links the file that says so in its place.
#ifndef FGNN_TRAINER_SERVICE_SYNC_CUDA_NCCL_EXCHANGES_H_
#define FGNN_TRAINER_SERVICE_SYNC_CUDA_NCCL_EXCHANGES_H_

#include <string>

#include "absl/status/statusor.h"
#include "trainer_service/sync/exchange_factory.h"

namespace fgnn {

// Opens NCCL for the first job with training.sync nccl. `device`: the GPU's
// number.
ExchangeFactory NcclExchanges(int device);

// Opens NCCL. Returns its name and version, "NCCL 2.28.9". Errors: see
// OpenNccl(). FailedPrecondition: this build has no CUDA.
absl::StatusOr<std::string> NameNccl();

}  // namespace fgnn

#endif  // FGNN_TRAINER_SERVICE_SYNC_CUDA_NCCL_EXCHANGES_H_
