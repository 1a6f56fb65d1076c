// The back ends of emulated GPUs, for a program: they multiply by plain loops.
#include "trainer_service/backend/cuda/cuda_backends.h"

#include <cstdlib>
#include <memory>

#include "shared/base/status.h"
#include "shared/telemetry/log.h"
#include "tests/fakes/cuda/plain_products.h"
#include "trainer_service/backend/cuda/cuda_backend.h"

namespace fgnn {
namespace {

absl::StatusOr<std::unique_ptr<DenseProducts>> OpenPlainProducts() {
  return simt::NewPlainProducts();
}

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
                                    .open_products = OpenPlainProducts,
                                    .on_lost = EndProcess});
  };
}

}  // namespace fgnn
