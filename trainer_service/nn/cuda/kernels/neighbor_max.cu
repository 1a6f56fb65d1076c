#include "trainer_service/compute/cuda/number_types.cuh"
#include "trainer_service/compute/cuda/row_units.cuh"
#include "trainer_service/compute/numbers.h"
#include "trainer_service/nn/cuda/kernels/list_parts.cuh"
#include "trainer_service/nn/cuda/kernels/neighbor_max.h"

namespace fgnn {
namespace {

// Rows of a list that a thread has under way at once.
constexpr uint32_t kRowsAtOnce = 4;
// Numbers of a unit: a thread has as many winners as well.
constexpr int kMostNumbers = 4;
// Blocks that a multiprocessor has room for. Without this number the compiler
// loads one row after the other.
constexpr int kBlocksAtOnce = 5;

// Written so that NaN wins and stays: a run that diverges is noticed by it.
__device__ bool Beats(float challenger, float largest) {
  return challenger > largest || challenger != challenger;
}

template <int kCount>
__device__ void StoreWords(const uint32_t (&words)[kCount], uint32_t* to) {
  if constexpr (kCount == 4) {
    *reinterpret_cast<uint4*>(to) = {words[0], words[1], words[2], words[3]};
  } else if constexpr (kCount == 2) {
    *reinterpret_cast<uint2*>(to) = {words[0], words[1]};
  } else {
    *to = words[0];
  }
}

// Places without an entry take the last one again, which changes nothing: only
// loads without branches are under way together.
template <typename Number, int kBytes>
__global__ void __launch_bounds__(kPartThreads, kBlocksAtOnce)
    NeighborMaxKernel(NeighborMaxArgs args, PartLayout layout) {
  constexpr int kCount = kUnitNumbers<Number, kBytes>;
  const ListPart part = PartOfThread(args, layout);
  if (!part.is_there) return;
  float largest[kCount] = {};
  uint32_t winners[kCount];
#pragma unroll
  for (int i = 0; i < kCount; ++i) winners[i] = kNoRow;
  const uint32_t column = part.unit * kCount;
  const Number* const x = static_cast<const Number*>(args.x) + column;
  for (uint32_t at = 0; at < part.count; at += kRowsAtOnce) {
    uint32_t rows[kRowsAtOnce];
    UnitBits<kBytes> units[kRowsAtOnce];
#pragma unroll
    for (uint32_t k = 0; k < kRowsAtOnce; ++k) {
      const uint32_t entry = part.begin + min(at + k, part.count - 1);
      rows[k] = __ldg(args.indices + entry);
      units[k] = LoadUnit<kBytes>(x + uint64_t{rows[k]} * args.columns);
    }
#pragma unroll
    for (uint32_t k = 0; k < kRowsAtOnce; ++k) {
#pragma unroll
      for (int i = 0; i < kCount; ++i) {
        const float number = NumberOf<Number>(units[k], i);
        const bool wins = Beats(number, largest[i]);
        largest[i] = wins ? number : largest[i];
        winners[i] = wins ? rows[k] : winners[i];
      }
    }
  }
  const uint64_t to = uint64_t{part.row} * args.columns + column;
  if (part.is_chunk) {
    StoreFloats(largest, args.partials + to);
  } else {
    StoreFloats(largest, static_cast<Number*>(args.out) + to);
  }
  if (args.winners == nullptr) return;
  StoreWords(winners,
             (part.is_chunk ? args.partial_winners : args.winners) + to);
}

template <typename Number>
__global__ void __launch_bounds__(kPartThreads)
    JoinLargestKernel(NeighborMaxArgs args, PartLayout layout) {
  const LongColumn column = LongColumnOfThread(args, layout);
  if (!column.is_there) return;
  float largest = 0;
  uint64_t best = column.first;
  JoinChunks(column, args.partials, args.columns,
             [&](float number, uint64_t place) {
               const bool wins = Beats(number, largest);
               largest = wins ? number : largest;
               best = wins ? place : best;
             });
  const uint64_t to = uint64_t{column.list} * args.columns + column.column;
  StoreFloats<1>({largest}, static_cast<Number*>(args.out) + to);
  if (args.winners == nullptr) return;
  args.winners[to] = __ldg(args.partial_winners + best);
}

template <typename Number, int kBytes>
__global__ void __launch_bounds__(kPartThreads, kBlocksAtOnce)
    WonSumsKernel(WonSumsArgs args, PartLayout layout) {
  constexpr int kCount = kUnitNumbers<Number, kBytes>;
  constexpr int kWinnerBytes = kCount * static_cast<int>(sizeof(uint32_t));
  const ListPart part = PartOfThread(args, layout);
  if (!part.is_there) return;
  const uint32_t column = part.unit * kCount;
  float sums[kCount] = {};
  uint32_t before = kNoRow;
  if (!part.is_first) before = __ldg(args.indices + part.begin - 1);
  for (uint32_t at = 0; at < part.count; at += kRowsAtOnce) {
    uint32_t rows[kRowsAtOnce];
    UnitBits<kBytes> units[kRowsAtOnce];
    UnitBits<kWinnerBytes> winners[kRowsAtOnce];
#pragma unroll
    for (uint32_t k = 0; k < kRowsAtOnce; ++k) {
      const uint32_t entry = part.begin + min(at + k, part.count - 1);
      rows[k] = __ldg(args.indices + entry);
      const uint64_t place = uint64_t{rows[k]} * args.columns + column;
      units[k] = LoadUnit<kBytes>(static_cast<const Number*>(args.x) + place);
      winners[k] = LoadUnit<kWinnerBytes>(args.winners + place);
    }
#pragma unroll
    for (uint32_t k = 0; k < kRowsAtOnce; ++k) {
      // A row that comes again, or fills a place without an entry, has counted.
      const bool counts = rows[k] != before;
      before = rows[k];
#pragma unroll
      for (int i = 0; i < kCount; ++i) {
        const bool won = counts && winners[k].words[i] == part.list;
        sums[i] =
            __fadd_rn(sums[i], won ? NumberOf<Number>(units[k], i) : 0.0f);
      }
    }
  }
  StoreFloats(sums, (part.is_chunk ? args.partials : args.out) +
                        uint64_t{part.row} * args.columns + column);
}

__global__ void __launch_bounds__(kPartThreads)
    AddWonKernel(WonSumsArgs args, PartLayout layout) {
  const LongColumn column = LongColumnOfThread(args, layout);
  if (!column.is_there) return;
  float sum = 0;
  JoinChunks(column, args.partials, args.columns,
             [&sum](float number, uint64_t) { sum = __fadd_rn(sum, number); });
  args.out[uint64_t{column.list} * args.columns + column.column] = sum;
}

// Calls launch(Number(), bytes of a unit) for arguments that kernels can read.
template <typename Args, typename Launcher>
cudaError_t LaunchFor(const Args& args, const Launcher& launch) {
  if (args.columns == 0 ||
      UnitBytes(16, {args.x, args.out, args.winners, args.partials}) != 16) {
    return cudaErrorInvalidValue;
  }
  return LaunchForType(args.type, [&](auto number) {
    constexpr int kMostBytes = kMostNumbers * static_cast<int>(sizeof(number));
    const int bytes = UnitBytes(args.columns * sizeof(number), {});
    return LaunchForUnit<decltype(number), kMostBytes>(
        bytes, [&](auto unit_bytes) { return launch(number, unit_bytes); });
  });
}

}  // namespace

cudaError_t LaunchNeighborMax(const NeighborMaxArgs& args,
                              cudaStream_t stream) {
  return LaunchFor(args, [&](auto number, auto bytes) {
    using Number = decltype(number);
    constexpr int kBytes = decltype(bytes)::value;
    return LaunchParts(NeighborMaxKernel<Number, kBytes>,
                       JoinLargestKernel<Number>, args,
                       kUnitNumbers<Number, kBytes>, stream);
  });
}

cudaError_t LaunchWonSums(const WonSumsArgs& args, cudaStream_t stream) {
  return LaunchFor(args, [&](auto number, auto bytes) {
    using Number = decltype(number);
    constexpr int kBytes = decltype(bytes)::value;
    return LaunchParts(WonSumsKernel<Number, kBytes>, AddWonKernel, args,
                       kUnitNumbers<Number, kBytes>, stream);
  });
}

}  // namespace fgnn
