#include "shared/device/cuda/launch.h"
#include "trainer_service/nn/cuda/kernels/cross_entropy.h"

namespace fgnn {
namespace {

constexpr uint32_t kThreads = 256;
constexpr uint32_t kWarp = 32;
constexpr uint32_t kAllLanes = 0xffffffffu;

// The first of a row's largest logits.
struct Largest {
  float logit;
  uint32_t place;
};

__device__ Largest LargestOfWarp(Largest mine) {
#pragma unroll
  for (int bits = kWarp / 2; bits > 0; bits /= 2) {
    const Largest other = {__shfl_xor_sync(kAllLanes, mine.logit, bits),
                           __shfl_xor_sync(kAllLanes, mine.place, bits)};
    if (other.logit > mine.logit ||
        (other.logit == mine.logit && other.place < mine.place)) {
      mine = other;
    }
  }
  return mine;
}

// Returns the same sum in every lane: an addition has no order.
__device__ double SumOfWarp(double value) {
#pragma unroll
  for (int bits = kWarp / 2; bits > 0; bits /= 2) {
    value += __shfl_xor_sync(kAllLanes, value, bits);
  }
  return value;
}

// A warp computes a row, a lane every 32nd class.
__global__ void __launch_bounds__(kThreads) RowsKernel(CrossEntropyArgs args) {
  const uint64_t row = (uint64_t{blockIdx.x} * kThreads + threadIdx.x) / kWarp;
  if (row >= args.rows) return;  // All lanes of the warp.
  const uint32_t lane = threadIdx.x % kWarp;
  const uint32_t classes = args.num_classes;
  float* const logits = args.logits + row * classes;
  const auto label = static_cast<uint32_t>(args.labels[row]);
  Largest best = {-INFINITY, UINT32_MAX};
  for (uint32_t c = lane; c < classes; c += kWarp) {
    const float logit = logits[c];
    if (logit > best.logit) best = {logit, c};
  }
  best = LargestOfWarp(best);
  const float of_label = logits[label] - best.logit;
  __syncwarp();  // Before the label's logit is overwritten.
  double total = 0;
  double logit_sum = 0;
  for (uint32_t c = lane; c < classes; c += kWarp) {
    const float below = logits[c] - best.logit;
    const float power = expf(below);
    logits[c] = power;
    logit_sum += static_cast<double>(below);
    total += static_cast<double>(power);
  }
  total = SumOfWarp(total);
  logit_sum = SumOfWarp(logit_sum);
  const double smoothing = static_cast<double>(args.smoothing);
  const double spread = smoothing / static_cast<double>(classes);
  const auto scale = static_cast<double>(args.scale);
  const auto factor = static_cast<float>(scale / total);
  const auto for_all = static_cast<float>(scale * spread);
  const float for_label = args.scale * (1.0f - args.smoothing);
  for (uint32_t c = lane; c < classes; c += kWarp) {
    const float of_class = __fmul_rn(logits[c], factor) - for_all;
    logits[c] = c == label ? of_class - for_label : of_class;
  }
  if (lane != 0) return;
  double loss = log(total) - (1 - smoothing) * static_cast<double>(of_label);
  if (spread > 0) loss -= spread * logit_sum;
  args.of_rows[row] = {loss, best.place == label ? 1u : 0u};
}

// One block adds up all rows: threads every 256th, then the block by halves.
__global__ void __launch_bounds__(kThreads)
    AddRowsKernel(CrossEntropyArgs args) {
  __shared__ CrossEntropySum sums[kThreads];
  CrossEntropySum mine = {0, 0};
  for (uint32_t row = threadIdx.x; row < args.rows; row += kThreads) {
    mine.loss += args.of_rows[row].loss;
    mine.num_correct += args.of_rows[row].num_correct;
  }
  sums[threadIdx.x] = mine;
  __syncthreads();
  for (uint32_t half = kThreads / 2; half > 0; half /= 2) {
    if (threadIdx.x < half) {
      sums[threadIdx.x].loss += sums[threadIdx.x + half].loss;
      sums[threadIdx.x].num_correct += sums[threadIdx.x + half].num_correct;
    }
    __syncthreads();
  }
  if (threadIdx.x == 0) *args.sum = sums[0];
}

}  // namespace

cudaError_t LaunchCrossEntropy(const CrossEntropyArgs& args,
                               cudaStream_t stream) {
  if (args.num_classes == 0) return cudaErrorInvalidValue;
  const uint64_t threads = uint64_t{args.rows} * kWarp;
  const cudaError_t error =
      Launch(RowsKernel, GridOfThreads(threads, kThreads), stream, args);
  if (error != cudaSuccess) return error;
  return Launch(AddRowsKernel, {.blocks = 1, .threads = kThreads}, stream,
                args);
}

}  // namespace fgnn
