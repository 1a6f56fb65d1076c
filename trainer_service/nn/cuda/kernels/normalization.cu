#include "shared/device/cuda/block_scan.cuh"
#include "shared/device/cuda/launch.h"
#include "trainer_service/compute/cuda/number_types.cuh"
#include "trainer_service/compute/cuda/row_units.cuh"
#include "trainer_service/nn/cuda/kernels/normalization.h"
#include "trainer_service/nn/norm_epsilon.h"

namespace fgnn {
namespace {

constexpr uint32_t kThreads = 256;

// Returns the same sum in every lane: an addition has no order.
__device__ float SumOfWarp(float value) {
#pragma unroll
  for (int bits = kWarpThreads / 2; bits > 0; bits /= 2) {
    value = __fadd_rn(value, __shfl_xor_sync(kAllLanes, value, bits));
  }
  return value;
}

__device__ float InverseDeviation(float variance) {
  return 1.0f / sqrtf(__fadd_rn(variance, kNormEpsilon));
}

__device__ void Store(float value, float* to) { *to = value; }
__device__ void Store(float value, Bfloat16* to) {
  *to = RoundToBfloat16(value);
}

// Terms of sums over rows: element i of the matrix is in column c.
struct SquareAround {
  const float* z;
  const float* mean;

  __device__ float operator()(uint64_t i, uint32_t c) const {
    const float difference = __fadd_rn(__ldg(z + i), -__ldg(mean + c));
    return __fmul_rn(difference, difference);
  }
};
template <typename Number>
struct ProductWith {
  const Number* dy;
  const float* n;

  __device__ float operator()(uint64_t i, uint32_t /*c*/) const {
    return __fmul_rn(Widen(dy[i]), n[i]);
  }
};

// A thread sums a column over the rows of a chunk.
template <typename Term>
__global__ void __launch_bounds__(kThreads)
    SumTermsKernel(Term term, ColumnSumsArgs args) {
  const uint64_t thread = uint64_t{blockIdx.x} * kThreads + threadIdx.x;
  const auto column = static_cast<uint32_t>(thread % args.columns);
  const uint32_t chunk_rows = RowsOfChunk(args.rows);
  const uint64_t first = thread / args.columns * chunk_rows;
  if (first >= args.rows) return;
  const uint64_t last = min(first + chunk_rows, uint64_t{args.rows});
  float sum = 0;
#pragma unroll 8
  for (uint64_t row = first; row < last; ++row) {
    sum = __fadd_rn(sum, term(row * args.columns + column, column));
  }
  args.partials[thread / args.columns * args.columns + column] = sum;
}

// Sets args.out to the sums of the terms. args.x is not read.
template <typename Term>
cudaError_t SumTerms(const Term& term, const ColumnSumsArgs& args,
                     cudaStream_t stream) {
  const uint64_t chunk_rows = RowsOfChunk(args.rows);
  const uint64_t threads =
      (args.rows + chunk_rows - 1) / chunk_rows * args.columns;
  const cudaError_t error =
      Launch(SumTermsKernel<Term>, GridOfThreads(threads, kThreads), stream,
             term, args);
  return error == cudaSuccess ? LaunchAddChunks(args, stream) : error;
}

// The sums are in the places of mean and variance.
__global__ void __launch_bounds__(kThreads)
    FinishMeanKernel(ColumnMomentsArgs args) {
  const uint64_t c = uint64_t{blockIdx.x} * kThreads + threadIdx.x;
  if (c >= args.columns) return;
  args.mean[c] /= static_cast<float>(args.rows);
}
__global__ void __launch_bounds__(kThreads)
    FinishVarianceKernel(ColumnMomentsArgs args) {
  const uint64_t c = uint64_t{blockIdx.x} * kThreads + threadIdx.x;
  if (c >= args.columns) return;
  const float sum = args.variance[c];
  args.inverse_deviation[c] =
      InverseDeviation(sum / static_cast<float>(args.rows));
  args.variance[c] = sum / static_cast<float>(max(args.rows, 2u) - 1);
}

// What the columns of one row are normalised by.
struct RowNorm {
  float mean;
  float inverse_deviation;
};

__device__ RowNorm NormOfRow(const float* z, uint32_t columns) {
  const uint32_t lane = threadIdx.x % kWarpThreads;
  const float share = 1.0f / static_cast<float>(columns);
  float sum = 0;
  for (uint32_t c = lane; c < columns; c += kWarpThreads) {
    sum = __fadd_rn(sum, z[c]);
  }
  const float mean = __fmul_rn(share, SumOfWarp(sum));
  float squares = 0;
  for (uint32_t c = lane; c < columns; c += kWarpThreads) {
    const float difference = __fadd_rn(z[c], -mean);
    squares = __fmaf_rn(difference, difference, squares);
  }
  return {mean, InverseDeviation(__fmul_rn(share, SumOfWarp(squares)))};
}

// A warp has a row, a lane every 32nd column.
template <typename Input, bool kOfRows>
__global__ void __launch_bounds__(kThreads)
    NormalizeKernel(NormalizeArgs args) {
  const uint64_t row =
      (uint64_t{blockIdx.x} * kThreads + threadIdx.x) / kWarpThreads;
  if (row >= args.rows) return;  // All lanes of the warp.
  const uint32_t lane = threadIdx.x % kWarpThreads;
  const uint64_t at = row * args.columns;
  RowNorm norm = {};
  if constexpr (kOfRows) {
    norm = NormOfRow(args.z + at, args.columns);
    if (lane == 0) args.inverse_deviation[row] = norm.inverse_deviation;
  }
  const Input* const x = static_cast<const Input*>(args.x);
  for (uint32_t c = lane; c < args.columns; c += kWarpThreads) {
    if constexpr (!kOfRows) {
      norm = {__ldg(args.mean + c), args.inverse_deviation[c]};
    }
    const float n = __fmul_rn(__fadd_rn(args.z[at + c], -norm.mean),
                              norm.inverse_deviation);
    args.z[at + c] = n;
    const float y = __fmaf_rn(__ldg(args.scale + c), n, __ldg(args.shift + c));
    args.y[at + c] = x == nullptr ? y : __fadd_rn(y, Widen(x[at + c]));
  }
}

// Means over a row of what its gradient has to lose.
struct RowMeans {
  float of_gradient;
  float of_product;
};

template <typename Number>
__device__ RowMeans MeansOfRow(const NormGradientArgs& args, const Number* dy,
                               const float* n) {
  const float share = 1.0f / static_cast<float>(args.columns);
  float sum = 0;
  float products = 0;
  for (uint32_t c = threadIdx.x % kWarpThreads; c < args.columns;
       c += kWarpThreads) {
    const float scaled = __fmul_rn(__ldg(args.scale + c), Widen(dy[c]));
    sum = __fadd_rn(sum, scaled);
    products = __fmaf_rn(scaled, n[c], products);
  }
  return {__fmul_rn(share, SumOfWarp(sum)),
          __fmul_rn(share, SumOfWarp(products))};
}

template <typename Number, bool kOfRows>
__global__ void __launch_bounds__(kThreads)
    GradientKernel(NormGradientArgs args) {
  const uint64_t row =
      (uint64_t{blockIdx.x} * kThreads + threadIdx.x) / kWarpThreads;
  if (row >= args.rows) return;  // All lanes of the warp.
  const uint64_t at = row * args.columns;
  const Number* const dy = static_cast<const Number*>(args.dy) + at;
  const float* const n = args.n + at;
  Number* const dz = static_cast<Number*>(args.dz) + at;
  const float share = 1.0f / static_cast<float>(args.rows);
  RowMeans means = {};
  if constexpr (kOfRows) means = MeansOfRow(args, dy, n);
  for (uint32_t c = threadIdx.x % kWarpThreads; c < args.columns;
       c += kWarpThreads) {
    const float scale = __ldg(args.scale + c);
    if constexpr (!kOfRows) {
      means = {__fmul_rn(__fmul_rn(share, scale), __ldg(args.d_shift + c)),
               __fmul_rn(__fmul_rn(share, scale), __ldg(args.d_scale + c))};
    }
    const float inverse =
        __ldg(args.inverse_deviation + (kOfRows ? row : uint64_t{c}));
    const float across =
        __fmaf_rn(-n[c], means.of_product,
                  __fmaf_rn(scale, Widen(dy[c]), -means.of_gradient));
    Store(__fmul_rn(inverse, across), dz + c);
  }
}

Grid WarpForEach(uint64_t rows) {
  return GridOfThreads(rows * kWarpThreads, kThreads);
}
Grid ThreadForEach(uint64_t columns) {
  return GridOfThreads(columns, kThreads);
}

template <bool kOfRows>
cudaError_t LaunchNormalize(const NormalizeArgs& args, cudaStream_t stream) {
  if ((!kOfRows && args.rows == 0) || args.columns == 0 ||
      UnitBytes(16, {args.z, args.x, args.y}) != 16) {
    return cudaErrorInvalidValue;
  }
  return LaunchForType(args.x_type, [&](auto number) {
    return Launch(NormalizeKernel<decltype(number), kOfRows>,
                  WarpForEach(args.rows), stream, args);
  });
}

template <typename Number, bool kOfRows>
cudaError_t LaunchGradientOf(const NormGradientArgs& args,
                             cudaStream_t stream) {
  ColumnSumsArgs sums;
  sums.rows = args.rows;
  sums.columns = args.columns;
  sums.type = args.type;
  sums.x = args.dy;
  sums.partials = args.partials;
  sums.out = args.d_shift;
  cudaError_t error = LaunchColumnSums(sums, stream);
  if (error != cudaSuccess) return error;
  sums.out = args.d_scale;
  error =
      SumTerms(ProductWith<Number>{static_cast<const Number*>(args.dy), args.n},
               sums, stream);
  if (error != cudaSuccess) return error;
  return Launch(GradientKernel<Number, kOfRows>, WarpForEach(args.rows), stream,
                args);
}

template <bool kOfRows>
cudaError_t LaunchGradient(const NormGradientArgs& args, cudaStream_t stream) {
  if ((!kOfRows && args.rows == 0) || args.columns == 0 ||
      UnitBytes(16, {args.dy, args.n, args.dz}) != 16) {
    return cudaErrorInvalidValue;
  }
  return LaunchForType(args.type, [&](auto number) {
    return LaunchGradientOf<decltype(number), kOfRows>(args, stream);
  });
}

}  // namespace

cudaError_t LaunchColumnMoments(const ColumnMomentsArgs& args,
                                cudaStream_t stream) {
  if (args.rows == 0) return cudaErrorInvalidValue;
  ColumnSumsArgs sums;
  sums.rows = args.rows;
  sums.columns = args.columns;
  sums.x = args.z;
  sums.partials = args.partials;
  sums.out = args.mean;
  cudaError_t error = LaunchColumnSums(sums, stream);
  if (error != cudaSuccess) return error;
  error = Launch(FinishMeanKernel, ThreadForEach(args.columns), stream, args);
  if (error != cudaSuccess) return error;
  sums.out = args.variance;
  error = SumTerms(SquareAround{args.z, args.mean}, sums, stream);
  if (error != cudaSuccess) return error;
  return Launch(FinishVarianceKernel, ThreadForEach(args.columns), stream,
                args);
}

cudaError_t LaunchNormalizeColumns(const NormalizeArgs& args,
                                   cudaStream_t stream) {
  return LaunchNormalize<false>(args, stream);
}
cudaError_t LaunchNormalizeRows(const NormalizeArgs& args,
                                cudaStream_t stream) {
  return LaunchNormalize<true>(args, stream);
}

cudaError_t LaunchGradientOfNormalizeColumns(const NormGradientArgs& args,
                                             cudaStream_t stream) {
  return LaunchGradient<false>(args, stream);
}
cudaError_t LaunchGradientOfNormalizeRows(const NormGradientArgs& args,
                                          cudaStream_t stream) {
  return LaunchGradient<true>(args, stream);
}

}  // namespace fgnn
