#include "trainer_service/backend/cuda/cuda_backends.h"

#include <cstdlib>
#include <memory>

#include "shared/base/status.h"
#include "shared/telemetry/log.h"
#include "trainer_service/backend/cuda/cuda_backend.h"
#include "trainer_service/nn/cuda/cublas_lt.h"

namespace fgnn {
namespace {

// Destructors would wait for a device that does not answer.
void EndProcess(const absl::Status& why) {
  LogError("{}; this process ends", MessageOf(why));
  std::_Exit(ExitCode(why));
}

}  // namespace

BackendFactory CudaBackends(int device) {
  return [device](const JobSpec& spec, int num_threads)
             -> absl::StatusOr<std::unique_ptr<TrainerBackend>> {
    return CudaBackend::OpenForJob(spec, num_threads,
                                   {.device = device,
                                    .open_products = OpenCublasLt,
                                    .on_lost = EndProcess});
  };
}

}  // namespace fgnn
