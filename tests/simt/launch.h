// cudaLaunchKernelEx() for kernels that are plain functions.
#ifndef FGNN_SIMT_LAUNCH_H_
#define FGNN_SIMT_LAUNCH_H_

#include <cuda_runtime_api.h>

#include <functional>
#include <tuple>
#include <utility>

#include "tests/simt/scheduler.h"

namespace fgnn::simt {

// As fake_cudart.cc orders its streams. Copies what it is given.
cudaError_t Enqueue(cudaStream_t stream, std::function<void()> work);

template <typename... Parameters, typename... Arguments>
cudaError_t LaunchOnStream(const cudaLaunchConfig_t& config,
                           void (*kernel)(Parameters...),
                           Arguments&&... arguments) {
  if (config.blockDim.x * config.blockDim.y * config.blockDim.z > 1024 ||
      config.gridDim.x == 0 || config.blockDim.x == 0 ||
      config.dynamicSmemBytes > 227 * 1024) {
    return cudaErrorInvalidConfiguration;
  }
  std::tuple<Parameters...> values(std::forward<Arguments>(arguments)...);
  return Enqueue(config.stream, [=] {
    Launch(config.gridDim, config.blockDim, config.dynamicSmemBytes,
           [&] { std::apply(kernel, values); });
  });
}

}  // namespace fgnn::simt

#endif  // FGNN_SIMT_LAUNCH_H_
