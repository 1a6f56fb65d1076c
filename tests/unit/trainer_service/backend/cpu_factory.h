// The back end for tests of code other than back ends.
#ifndef FGNN_TESTS_UNIT_TRAINER_SERVICE_BACKEND_CPU_FACTORY_H_
#define FGNN_TESTS_UNIT_TRAINER_SERVICE_BACKEND_CPU_FACTORY_H_

#include "trainer_service/backend/cpu/cpu_backend.h"

namespace fgnn {

inline BackendFactory CpuFactory() {
  return [](const JobSpec& spec, int num_threads) {
    return CpuBackend::OpenForJob(spec, num_threads);
  };
}

}  // namespace fgnn

#endif  // FGNN_TESTS_UNIT_TRAINER_SERVICE_BACKEND_CPU_FACTORY_H_
