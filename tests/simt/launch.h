// A launch as a closure in a stream.
#ifndef FGNN_TESTS_SIMT_LAUNCH_H_
#define FGNN_TESTS_SIMT_LAUNCH_H_

#include <cuda_runtime_api.h>

#include <functional>
#include <tuple>
#include <utility>

#include "tests/simt/scheduler.h"

namespace fgnn::simt {

// The fake runtime's (tests/fakes/cuda): runs `work` when its stream comes to
// it, and counts a launch.
cudaError_t Enqueue(cudaStream_t stream, std::function<void()> work);

inline constexpr unsigned kMostThreads = 1024;
inline constexpr size_t kMostSharedBytes = 48 * 1024;

// Does what cudaLaunchKernelEx() does; the arguments are copied.
template <typename... Parameters, typename... Arguments>
cudaError_t LaunchOnStream(const cudaLaunchConfig_t& config,
                           void (*kernel)(Parameters...),
                           Arguments&&... arguments) {
  const unsigned threads =
      config.blockDim.x * config.blockDim.y * config.blockDim.z;
  if (threads == 0 || threads > kMostThreads || config.gridDim.x == 0 ||
      config.dynamicSmemBytes > kMostSharedBytes) {
    return cudaErrorInvalidConfiguration;
  }
  std::tuple<Parameters...> values(std::forward<Arguments>(arguments)...);
  return Enqueue(config.stream, [=] {
    RunGrid(config.gridDim, config.blockDim, config.dynamicSmemBytes,
            [&] { std::apply(kernel, values); });
  });
}

}  // namespace fgnn::simt

#endif  // FGNN_TESTS_SIMT_LAUNCH_H_
