#include "shared/device/cuda/launch.h"
#include "trainer_service/compute/cuda/row_units.cuh"
#include "trainer_service/nn/cuda/kernels/array_sums.cuh"
#include "trainer_service/nn/cuda/kernels/neighbor_sums.h"
#include "trainer_service/nn/cuda/kernels/pair_loss.h"
#include "trainer_service/nn/cuda/kernels/transposed_block.h"
#include "trainer_service/nn/exp_of_negative.h"

namespace fgnn {
namespace {

// Parts of the workspace. An end is a place in `pairs`: pair p has the ends 2 p
// and 2 p + 1, as a block's destination has neighbours.
struct Parts {
  uint32_t* pair_begins;  // [num_pairs + 1] 0, 2, 4, …
  uint32_t* seed_begins;  // [num_seeds + 1] Begin of each seed's ends.
  uint32_t* ends;         // [2 * num_pairs] By seeds, rising.
  uint32_t* others;       // [2 * num_pairs] The seed at the pair's other end.
  float* scales;          // [2 * num_pairs] The slope of the end's pair.
  float* slopes;          // [num_pairs] Slope of the mean loss by logit.
  uint32_t* transpose;
};

Parts Divide(const PairLossArgs& args) {
  const uint64_t pairs = args.num_pairs;
  uint32_t* next = args.workspace;
  const auto take = [&next](uint64_t words) {
    uint32_t* const part = next;
    next += words;
    return part;
  };
  Parts parts = {};
  parts.pair_begins = take(pairs + 1);
  parts.seed_begins = take(uint64_t{args.num_seeds} + 1);
  parts.ends = take(2 * pairs);
  parts.others = take(2 * pairs);
  parts.scales = reinterpret_cast<float*>(take(2 * pairs));
  parts.slopes = reinterpret_cast<float*>(take(pairs));
  parts.transpose = next;
  return parts;
}

struct KernelArgs {
  PairLossArgs of;
  Parts parts;
  float scale;  // 1 / num_pairs
};

// Returns the same dot product in all lanes of the warp.
__device__ float LogitOf(const PairLossArgs& args, uint64_t pair) {
  const uint64_t left = __ldg(args.pairs + 2 * pair);
  const uint64_t right = __ldg(args.pairs + 2 * pair + 1);
  const float* const x = args.rows + left * args.columns;
  const float* const y = args.rows + right * args.columns;
  float sum = 0;
#pragma unroll 4
  for (uint32_t c = threadIdx.x % kWarpThreads; c < args.columns;
       c += kWarpThreads) {
    sum = __fmaf_rn(__ldg(x + c), __ldg(y + c), sum);
  }
#pragma unroll
  for (int bits = kWarpThreads / 2; bits > 0; bits /= 2) {
    sum = __fadd_rn(sum, __shfl_xor_sync(kAllLanes, sum, bits));
  }
  return sum;
}

// A warp computes every so many'th pair.
__global__ void __launch_bounds__(kSumThreads)
    ScorePairsKernel(KernelArgs args) {
  const PairLossArgs& of = args.of;
  const uint32_t lane = threadIdx.x % kWarpThreads;
  const uint64_t warps = uint64_t{gridDim.x} * (kSumThreads / kWarpThreads);
  const uint64_t thread = uint64_t{blockIdx.x} * kSumThreads + threadIdx.x;
  double loss = 0;
  uint64_t num_correct = 0;
  for (uint64_t p = thread / kWarpThreads; p < of.num_pairs; p += warps) {
    const float logit = LogitOf(of, p);
    if (lane != 0) continue;
    const bool is_edge = p < of.num_positives;
    // The logit's sign is chosen so that no exponential overflows.
    const float against = is_edge ? -logit : logit;
    const float decay = ExpOfNegative(-fabsf(logit));
    loss += static_cast<double>(against > 0 ? against : 0.0f) +
            static_cast<double>(log1pf(decay));
    num_correct += (logit > 0) == is_edge ? 1u : 0u;
    const float share = (against >= 0 ? 1.0f : decay) / __fadd_rn(1.0f, decay);
    args.parts.slopes[p] = __fmul_rn(is_edge ? -share : share, args.scale);
    args.parts.pair_begins[p] = static_cast<uint32_t>(2 * p);
  }
  if (thread == 0) args.parts.pair_begins[of.num_pairs] = 2 * of.num_pairs;
  StoreSumOfBlock(loss, of.losses);
  StoreSumOfBlock(num_correct, of.counts);
}

// Finds what the rows of each seed are summed over. The ends are sorted.
__global__ void __launch_bounds__(kSumThreads)
    FindOthersKernel(KernelArgs args) {
  const uint64_t i = uint64_t{blockIdx.x} * kSumThreads + threadIdx.x;
  if (i >= uint64_t{2} * args.of.num_pairs) return;
  const uint32_t end = args.parts.ends[i];
  args.parts.others[i] = args.of.pairs[end ^ 1u];
  args.parts.scales[i] = args.parts.slopes[end / 2];
}

// Sorts the ends by their seeds. What it writes to `others` and `scales` is not
// used.
cudaError_t SortEnds(const KernelArgs& args, cudaStream_t stream) {
  TransposeArgs transpose;
  transpose.indptr = args.parts.pair_begins;
  transpose.indices = args.of.pairs;
  transpose.num_destinations = args.of.num_pairs;
  transpose.num_sources = args.of.num_seeds;
  transpose.entries = 2 * args.of.num_pairs;
  transpose.out_indptr = args.parts.seed_begins;
  transpose.out_indices = args.parts.others;
  transpose.out_entries = args.parts.ends;
  transpose.inverse_degrees = args.parts.scales;
  transpose.workspace = args.parts.transpose;
  return LaunchTranspose(transpose, stream);
}

cudaError_t AddUp(const KernelArgs& args, cudaStream_t stream) {
  NeighborSumsArgs sums;
  sums.indptr = args.parts.seed_begins;
  sums.indices = args.parts.others;
  sums.num_lists = args.of.num_seeds;
  sums.columns = args.of.columns;
  sums.x = args.of.rows;
  sums.out = args.of.gradient;
  sums.entry_scales = args.parts.scales;
  return LaunchNeighborSums(sums, stream);
}

}  // namespace

uint64_t PairLossWords(uint32_t num_pairs, uint32_t num_seeds) {
  return uint64_t{8} * num_pairs + 1 + uint64_t{num_seeds} + 1 +
         TransposeWords(num_seeds, 2 * num_pairs);
}

cudaError_t LaunchPairLoss(const PairLossArgs& args, cudaStream_t stream) {
  if (args.columns == 0 || UnitBytes(16, {args.rows, args.gradient}) != 16) {
    return cudaErrorInvalidValue;
  }
  const KernelArgs all = {args, Divide(args),
                          1 / static_cast<float>(args.num_pairs)};
  const uint64_t threads = uint64_t{args.num_pairs} * kWarpThreads;
  cudaError_t error = LaunchSum(ScorePairsKernel, all, threads, args.losses,
                                &args.sum->loss, stream);
  if (error != cudaSuccess) return error;
  error = LaunchAddPartials<uint64_t>(args.counts, SumBlocks(threads),
                                      &args.sum->num_correct, stream);
  if (error == cudaSuccess) error = SortEnds(all, stream);
  if (error != cudaSuccess) return error;
  error = Launch(FindOthersKernel,
                 GridOfThreads(uint64_t{2} * args.num_pairs, kSumThreads),
                 stream, all);
  if (error != cudaSuccess) return error;
  return AddUp(all, stream);
}

}  // namespace fgnn
