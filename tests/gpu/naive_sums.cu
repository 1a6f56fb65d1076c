#include "shared/device/cuda/launch.h"
#include "tests/gpu/naive_sums.h"

namespace fgnn {
namespace {

constexpr uint32_t kThreads = 256;

__global__ void NaiveSumsKernel(NeighborSumsArgs args) {
  const uint64_t thread = uint64_t{blockIdx.x} * kThreads + threadIdx.x;
  const uint64_t list = thread / args.columns;
  const uint64_t column = thread % args.columns;
  if (list >= args.num_lists) return;
  const auto* const x = static_cast<const float*>(args.x);
  float sum = 0;
  for (uint32_t e = args.indptr[list]; e < args.indptr[list + 1]; ++e) {
    sum += x[uint64_t{args.indices[e]} * args.columns + column];
  }
  const uint32_t count = args.indptr[list + 1] - args.indptr[list];
  if (args.divisor == Divisor::kCount && count > 0) {
    sum *= 1.0f / static_cast<float>(count);
  }
  static_cast<float*>(args.out)[thread] = sum;
}

}  // namespace

cudaError_t LaunchNaiveSums(const NeighborSumsArgs& args, cudaStream_t stream) {
  const uint64_t threads = uint64_t{args.num_lists} * args.columns;
  return Launch(NaiveSumsKernel, GridOfThreads(threads, kThreads), stream,
                args);
}

}  // namespace fgnn
