#include "shared/device/cuda/launch.h"
#include "trainer_service/compute/cuda/number_types.cuh"
#include "trainer_service/compute/cuda/row_units.cuh"
#include "trainer_service/compute/numbers.h"
#include "trainer_service/nn/cuda/kernels/attention_rows.h"

namespace fgnn {
namespace {

constexpr uint32_t kThreads = 256;
constexpr uint32_t kAllLanes = 0xffffffffu;
// Rows of a list that a thread has under way at once.
constexpr uint32_t kRowsAtOnce = 4;

__host__ __device__ uint64_t WidthOf(const HeadColumns& shape) {
  return uint64_t{shape.heads} * shape.columns;
}

// Returns number `at` of an array of numbers.
template <typename Number>
__device__ float NumberAt(const void* numbers, uint64_t at) {
  constexpr int kBytes = sizeof(Number);
  return NumberOf<Number>(
      LoadUnit<kBytes>(static_cast<const Number*>(numbers) + at), 0);
}

// A group of lanes, a power of two, has a head of a row or of an entry. A lane
// has about kColumnsOfLane columns, one every `lanes`.
constexpr uint32_t kColumnsOfLane = 4;

uint32_t LanesLog2Of(const HeadColumns& shape) {
  return LanesLog2((uint64_t{shape.columns} + kColumnsOfLane - 1) /
                   kColumnsOfLane);
}

// The number of a group's head among all, and the lane's place in the group.
struct GroupWork {
  uint64_t item;
  uint32_t lane;
  uint32_t lanes;
};
__device__ GroupWork WorkOf(uint32_t lanes_log2) {
  const uint64_t thread = uint64_t{blockIdx.x} * kThreads + threadIdx.x;
  const uint32_t lanes = 1u << lanes_log2;
  return {thread >> lanes_log2, threadIdx.x & (lanes - 1), lanes};
}

// Returns the sum over the group in each of its lanes: an addition has no
// order. All lanes of the warp take part.
__device__ float SumOfGroup(const GroupWork& work, float value) {
  for (uint32_t bits = work.lanes / 2; bits > 0; bits /= 2) {
    value = __fadd_rn(
        value, __shfl_xor_sync(kAllLanes, value, static_cast<int>(bits)));
  }
  return value;
}

template <typename Number>
__global__ void __launch_bounds__(kThreads)
    HeadProductsKernel(HeadProductsArgs args, uint32_t lanes_log2) {
  const GroupWork work = WorkOf(lanes_log2);
  const uint64_t row = work.item / args.shape.heads;
  const uint32_t columns = row < args.rows ? args.shape.columns : 0;
  const uint64_t in_row = work.item % args.shape.heads * columns;
  const uint64_t begin = row * WidthOf(args.shape) + in_row;
  const bool has_other = row < args.other_rows;
  float sum = 0;
  float other = 0;
  for (uint32_t c = work.lane; c < columns; c += work.lanes) {
    const float number = NumberAt<Number>(args.x, begin + c);
    sum = __fadd_rn(sum, __fmul_rn(number, __ldg(args.vector + in_row + c)));
    if (!has_other) continue;
    other = __fadd_rn(other,
                      __fmul_rn(number, __ldg(args.other_vector + in_row + c)));
  }
  sum = SumOfGroup(work, sum);
  other = SumOfGroup(work, other);
  if (work.lane != 0 || row >= args.rows) return;
  args.out[work.item] = sum;
  if (has_other) args.other_out[work.item] = other;
}

// Returns the list that has the entry: the last that begins at or before it.
__device__ uint32_t ListOf(const EntryProductsArgs& args, uint32_t entry) {
  uint32_t first = 0;
  uint32_t last = args.num_lists;
  while (last - first > 1) {
    const uint32_t middle = first + (last - first) / 2;
    if (__ldg(args.indptr + middle) <= entry) {
      first = middle;
    } else {
      last = middle;
    }
  }
  return first;
}

// Groups find their lists, so that a hub does not hold the others up.
template <typename Number>
__global__ void __launch_bounds__(kThreads)
    EntryProductsKernel(EntryProductsArgs args, uint32_t lanes_log2) {
  const GroupWork work = WorkOf(lanes_log2);
  const uint64_t entry = work.item / args.shape.heads;
  const bool works = entry < args.entries;
  float sum = 0;
  if (works) {
    const uint32_t columns = args.shape.columns;
    const uint64_t width = WidthOf(args.shape);
    const uint64_t in_row = work.item % args.shape.heads * columns;
    const uint64_t of_list =
        ListOf(args, static_cast<uint32_t>(entry)) * width + in_row;
    const uint64_t of_row = __ldg(args.indices + entry) * width + in_row;
    for (uint32_t c = work.lane; c < columns; c += work.lanes) {
      sum = __fadd_rn(sum,
                      __fmul_rn(NumberAt<Number>(args.list_rows, of_list + c),
                                NumberAt<Number>(args.rows, of_row + c)));
    }
  }
  sum = SumOfGroup(work, sum);
  if (works && work.lane == 0) args.out[work.item] = sum;
}

__device__ float AddScored(float sum, const ScoredVector& scored,
                           const HeadColumns& shape, uint64_t list,
                           uint64_t column) {
  if (list >= scored.num_lists) return sum;
  const float score =
      __ldg(scored.scores + list * shape.heads + column / shape.columns);
  return __fadd_rn(sum, __fmul_rn(score, __ldg(scored.vector + column)));
}

// A thread has a column of a list.
template <typename Number, typename Out>
__global__ void __launch_bounds__(kThreads) HeadSumsKernel(HeadSumsArgs args) {
  const uint64_t width = WidthOf(args.shape);
  const uint64_t thread = uint64_t{blockIdx.x} * kThreads + threadIdx.x;
  const uint64_t list = thread / width;
  if (list >= args.num_lists) return;
  const uint64_t column = thread % width;
  const uint64_t head = column / args.shape.columns;
  const uint32_t end = __ldg(args.indptr + list + 1);
  float sum = 0;
  for (uint32_t e = __ldg(args.indptr + list); e < end; e += kRowsAtOnce) {
    float numbers[kRowsAtOnce];
    float weights[kRowsAtOnce];
#pragma unroll
    for (uint32_t k = 0; k < kRowsAtOnce; ++k) {
      const uint32_t entry = min(e + k, end - 1);
      const uint64_t row = __ldg(args.indices + entry);
      const uint64_t place =
          args.places == nullptr ? entry : __ldg(args.places + entry);
      weights[k] = __ldg(args.weights + place * args.shape.heads + head);
      numbers[k] = NumberAt<Number>(args.x, row * width + column);
    }
#pragma unroll
    for (uint32_t k = 0; k < kRowsAtOnce; ++k) {
      if (e + k < end) sum = __fadd_rn(sum, __fmul_rn(weights[k], numbers[k]));
    }
  }
  sum = AddScored(sum, args.first, args.shape, list, column);
  sum = AddScored(sum, args.second, args.shape, list, column);
  StoreFloats<1>({sum}, static_cast<Out*>(args.out) + thread);
}

bool IsValid(const HeadColumns& shape) {
  return shape.heads > 0 && shape.columns > 0;
}

}  // namespace

cudaError_t LaunchHeadProducts(const HeadProductsArgs& args,
                               cudaStream_t stream) {
  if (!IsValid(args.shape)) return cudaErrorInvalidValue;
  const uint32_t log2 = LanesLog2Of(args.shape);
  const Grid grid =
      GridOfThreads(uint64_t{args.rows} * args.shape.heads << log2, kThreads);
  return LaunchForType(args.type, [&](auto number) {
    return Launch(HeadProductsKernel<decltype(number)>, grid, stream, args,
                  log2);
  });
}

cudaError_t LaunchEntryProducts(const EntryProductsArgs& args,
                                cudaStream_t stream) {
  if (!IsValid(args.shape)) return cudaErrorInvalidValue;
  const uint32_t log2 = LanesLog2Of(args.shape);
  const Grid grid = GridOfThreads(
      uint64_t{args.entries} * args.shape.heads << log2, kThreads);
  return LaunchForType(args.type, [&](auto number) {
    return Launch(EntryProductsKernel<decltype(number)>, grid, stream, args,
                  log2);
  });
}

cudaError_t LaunchHeadSums(const HeadSumsArgs& args, cudaStream_t stream) {
  const bool floats = args.out_type == FeatureType::kFloat32;
  if (!IsValid(args.shape) || (!floats && args.out_type != args.type)) {
    return cudaErrorInvalidValue;
  }
  const Grid grid =
      GridOfThreads(args.num_lists * WidthOf(args.shape), kThreads);
  return LaunchForType(args.type, [&](auto number) {
    using Number = decltype(number);
    return Launch(
        floats ? HeadSumsKernel<Number, float> : HeadSumsKernel<Number, Number>,
        grid, stream, args);
  });
}

}  // namespace fgnn
