#include "shared/device/cuda/launch.h"
#include "trainer_service/compute/cuda/number_types.cuh"
#include "trainer_service/compute/cuda/row_units.cuh"
#include "trainer_service/compute/numbers.h"
#include "trainer_service/nn/cuda/kernels/dropout.h"

namespace fgnn {
namespace {

constexpr uint32_t kThreads = 256;
// Elements of a tile, which kTileThreads threads share: thread i draws one
// block of four words, and word j belongs to the elements 32 j + 2 i and the
// next.
constexpr uint32_t kTile = 128;
constexpr uint32_t kTileThreads = 16;
constexpr uint32_t kWords = 4;
constexpr uint32_t kElementsPerWord = 32;  // Between the elements of two words.

__device__ float Drop(const DropoutArgs& args, float value, uint32_t half) {
  const float scaled = __fmul_rn(value, args.scale);
  const float positive = args.relu && value < 0 ? 0.0f : scaled;
  return half < args.threshold ? 0.0f : positive;
}

// Returns i % columns.
__device__ uint32_t ColumnOf(uint64_t i, uint32_t columns) {
  if (i <= UINT32_MAX) return static_cast<uint32_t>(i) % columns;
  return static_cast<uint32_t>(i % columns);
}

template <typename To>
__global__ void __launch_bounds__(kThreads) DropoutKernel(DropoutArgs args) {
  const uint64_t thread = uint64_t{blockIdx.x} * kThreads + threadIdx.x;
  const uint64_t first =
      thread / kTileThreads * kTile + 2 * (thread % kTileThreads);
  if (first >= args.count) return;
  float values[kWords][2];
#pragma unroll
  for (uint32_t j = 0; j < kWords; ++j) {
    const uint64_t at = first + j * kElementsPerWord;
    if (at + 1 < args.count) {
      const float2 both = *reinterpret_cast<const float2*>(args.from + at);
      values[j][0] = both.x;
      values[j][1] = both.y;
    } else {
      values[j][0] = at < args.count ? args.from[at] : 0;
      values[j][1] = 0;
    }
  }
  PhiloxBlock block = {};
  if (args.threshold != 0) {
    block = Philox4x32({static_cast<uint32_t>(thread),
                        static_cast<uint32_t>(thread >> 32), 0, 0},
                       args.key);
  }
#pragma unroll
  for (uint32_t j = 0; j < kWords; ++j) {
    const uint64_t at = first + j * kElementsPerWord;
    if (at >= args.count) continue;
    if (args.row != nullptr) {
      const uint32_t column = ColumnOf(at, args.columns);
      const uint32_t next = column + 1 == args.columns ? 0 : column + 1;
      values[j][0] = __fadd_rn(values[j][0], __ldg(args.row + column));
      values[j][1] = __fadd_rn(values[j][1], __ldg(args.row + next));
    }
    const float dropped[2] = {
        Drop(args, values[j][0], block.words[j] & 0xffffu),
        Drop(args, values[j][1], block.words[j] >> 16)};
    To* const to = static_cast<To*>(args.to) + at;
    if (at + 1 < args.count) {
      StoreFloats(dropped, to);
    } else {
      StoreFloats<1>({dropped[0]}, to);
    }
  }
}

// Numbers of one thread of the gradient.
constexpr uint32_t kGradients = 4;

template <typename Number>
__global__ void __launch_bounds__(kThreads)
    GradientOfDropoutKernel(DropoutGradientArgs args) {
  const uint64_t first =
      (uint64_t{blockIdx.x} * kThreads + threadIdx.x) * kGradients;
  if (first >= args.count) return;
  const Number* const activations =
      static_cast<const Number*>(args.activations) + first;
  float* const gradient = args.gradient + first;
  if (first + kGradients > args.count) {
    for (uint32_t i = 0; first + i < args.count; ++i) {
      gradient[i] =
          Widen(activations[i]) > 0 ? __fmul_rn(gradient[i], args.scale) : 0.0f;
    }
    return;
  }
  constexpr int kBytes = kGradients * sizeof(Number);
  const UnitBits<kBytes> unit = LoadUnit<kBytes>(activations);
  const float4 old = *reinterpret_cast<const float4*>(gradient);
  const float scaled[kGradients] = {
      __fmul_rn(old.x, args.scale), __fmul_rn(old.y, args.scale),
      __fmul_rn(old.z, args.scale), __fmul_rn(old.w, args.scale)};
  float kept[kGradients];
#pragma unroll
  for (uint32_t i = 0; i < kGradients; ++i) {
    kept[i] =
        NumberOf<Number>(unit, static_cast<int>(i)) > 0 ? scaled[i] : 0.0f;
  }
  StoreFloats(kept, gradient);
}

}  // namespace

cudaError_t LaunchDropout(const DropoutArgs& args, cudaStream_t stream) {
  if (args.columns == 0 || UnitBytes(16, {args.from, args.to}) != 16) {
    return cudaErrorInvalidValue;
  }
  const Grid grid =
      GridOfThreads((args.count + kTile - 1) / kTile * kTileThreads, kThreads);
  return LaunchForType(args.to_type, [&](auto number) {
    return Launch(DropoutKernel<decltype(number)>, grid, stream, args);
  });
}

cudaError_t LaunchGradientOfDropout(const DropoutGradientArgs& args,
                                    cudaStream_t stream) {
  if (UnitBytes(16, {args.activations, args.gradient}) != 16) {
    return cudaErrorInvalidValue;
  }
  const Grid grid =
      GridOfThreads((args.count + kGradients - 1) / kGradients, kThreads);
  return LaunchForType(args.type, [&](auto number) {
    return Launch(GradientOfDropoutKernel<decltype(number)>, grid, stream,
                  args);
  });
}

}  // namespace fgnn
