#include "shared/device/cuda/launch.h"
#include "trainer_service/nn/cuda/kernels/self_loops.h"

namespace fgnn {
namespace {

constexpr uint32_t kThreads = 256;
constexpr uint32_t kLanesPerList = 4;

// A few lanes have a list; the last list ends the lists.
__global__ void __launch_bounds__(kThreads)
    AddSelfLoopsKernel(SelfLoopsArgs args) {
  const uint64_t thread = uint64_t{blockIdx.x} * kThreads + threadIdx.x;
  const auto i = static_cast<uint32_t>(thread / kLanesPerList);
  const uint32_t lane = threadIdx.x % kLanesPerList;
  if (i > args.num_destinations) return;
  const uint32_t begin = __ldg(args.indptr + i);
  if (lane == 0) args.out_indptr[i] = begin + i;
  if (i == args.num_destinations) return;
  const uint32_t end = __ldg(args.indptr + i + 1);
  if (lane == 0) args.out_indices[begin + i] = i;
  for (uint32_t e = begin + lane; e < end; e += kLanesPerList) {
    args.out_indices[e + i + 1] = __ldg(args.indices + e);
  }
}

}  // namespace

cudaError_t LaunchAddSelfLoops(const SelfLoopsArgs& args, cudaStream_t stream) {
  const uint64_t threads =
      (uint64_t{args.num_destinations} + 1) * kLanesPerList;
  return Launch(AddSelfLoopsKernel, GridOfThreads(threads, kThreads), stream,
                args);
}

}  // namespace fgnn
