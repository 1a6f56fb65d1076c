
#include "shared/device/cuda/block_scan.cuh"
#include "shared/device/cuda/launch.h"
#include "trainer_service/nn/cuda/kernels/transposed_block.h"

namespace fgnn {
namespace {

constexpr uint32_t kThreads = 256;
constexpr uint32_t kWarp = 32;
constexpr uint32_t kWarps = kThreads / kWarp;
constexpr uint32_t kMostDigitBits = 10;
constexpr uint32_t kMostDigits = 1u << kMostDigitBits;
constexpr uint32_t kDigitsPerThread = kMostDigits / kThreads;
// A block sorts a tile of entries, a warp a part of it, 32 entries a round.
constexpr uint32_t kRounds = 8;
constexpr uint32_t kTile = kThreads * kRounds;
constexpr uint32_t kLanesPerDestination = 8;

// One pass sorts by these bits of the sources.
struct Pass {
  const uint32_t* in;  // Entries in the order of the pass before; null: 0, 1, …
  uint32_t* out;
  uint32_t shift;
  uint32_t digits;  // A power of two.
  bool last;
};

// Parts of the workspace.
struct Workspace {
  uint32_t* destinations;  // [entries] Destinations of the entries.
  uint32_t* sources;       // [entries] In the order of the result.
  uint32_t* sorted;        // [entries] The result of every second pass.
  uint32_t* counts;        // [digits, tiles]
  uint32_t* totals;        // [digits]
  uint32_t tiles;
};

__global__ void __launch_bounds__(kThreads)
    FindDestinationsKernel(TransposeArgs args, uint32_t* destinations) {
  const uint64_t thread = uint64_t{blockIdx.x} * kThreads + threadIdx.x;
  const auto i = static_cast<uint32_t>(thread / kLanesPerDestination);
  const uint32_t lane = threadIdx.x % kLanesPerDestination;
  if (i >= args.num_destinations) return;
  const uint32_t begin = args.indptr[i];
  const uint32_t end = args.indptr[i + 1];
  for (uint32_t e = begin + lane; e < end; e += kLanesPerDestination) {
    destinations[e] = i;
  }
  if (lane != 0) return;
  const uint32_t count = end - begin + (args.counts_own ? 1u : 0u);
  args.inverse_degrees[i] =
      count == 0 ? 0.0f : 1.0f / static_cast<float>(count);
}

__device__ uint32_t DigitOf(const Pass& pass, uint32_t source) {
  return source >> pass.shift & (pass.digits - 1);
}

__global__ void __launch_bounds__(kThreads)
    CountDigitsKernel(TransposeArgs args, Pass pass, Workspace workspace) {
  __shared__ uint32_t counts[kMostDigits];
  for (uint32_t d = threadIdx.x; d < pass.digits; d += kThreads) counts[d] = 0;
  __syncthreads();
  const uint64_t tile = uint64_t{blockIdx.x} * kTile;
#pragma unroll
  for (uint32_t r = 0; r < kRounds; ++r) {
    const uint64_t place = tile + r * kThreads + threadIdx.x;
    if (place >= args.entries) break;
    const uint32_t entry =
        pass.in == nullptr ? static_cast<uint32_t>(place) : pass.in[place];
    atomicAdd(&counts[DigitOf(pass, args.indices[entry])], 1u);
  }
  __syncthreads();
  for (uint32_t d = threadIdx.x; d < pass.digits; d += kThreads) {
    workspace.counts[uint64_t{d} * workspace.tiles + blockIdx.x] = counts[d];
  }
}

// A warp replaces one digit's counts by the sums of those before them.
__global__ void __launch_bounds__(kThreads)
    ScanTilesKernel(Pass pass, Workspace workspace) {
  const uint32_t digit = blockIdx.x * kWarps + threadIdx.x / kWarp;
  if (digit >= pass.digits) return;
  uint32_t* const counts = workspace.counts + uint64_t{digit} * workspace.tiles;
  uint32_t before = 0;
  for (uint32_t first = 0; first < workspace.tiles; first += kWarp) {
    const uint32_t tile = first + threadIdx.x % kWarp;
    const uint32_t count = tile < workspace.tiles ? counts[tile] : 0;
    const uint32_t sum = SumUpToLane(count);
    if (tile < workspace.tiles) counts[tile] = before + sum - count;
    before += __shfl_sync(kAllLanes, sum, kWarp - 1);
  }
  if (threadIdx.x % kWarp == 0) workspace.totals[digit] = before;
}

// Sets begins [digits] to the places of the tile's first entry of each digit.
__device__ void FindBegins(const Pass& pass, const Workspace& workspace,
                           uint32_t* begins) {
  __shared__ uint32_t of_warps[kWarps];
  uint32_t totals[kDigitsPerThread];
  uint32_t sum = 0;
#pragma unroll
  for (uint32_t k = 0; k < kDigitsPerThread; ++k) {
    const uint32_t digit = threadIdx.x * kDigitsPerThread + k;
    totals[k] = digit < pass.digits ? workspace.totals[digit] : 0;
    sum += totals[k];
  }
  const uint32_t up_to_here = SumUpToLane(sum);
  if (threadIdx.x % kWarp == kWarp - 1) {
    of_warps[threadIdx.x / kWarp] = up_to_here;
  }
  __syncthreads();
  uint32_t before = up_to_here - sum;
  for (uint32_t w = 0; w < threadIdx.x / kWarp; ++w) before += of_warps[w];
#pragma unroll
  for (uint32_t k = 0; k < kDigitsPerThread; ++k) {
    const uint32_t digit = threadIdx.x * kDigitsPerThread + k;
    if (digit < pass.digits) {
      begins[digit] =
          before +
          workspace.counts[uint64_t{digit} * workspace.tiles + blockIdx.x];
    }
    before += totals[k];
  }
}

// The entries of one thread, and their places among those of their digit that
// the warp has had before.
struct Ranked {
  uint32_t entry[kRounds];
  uint32_t source[kRounds];
  uint32_t rank[kRounds];
};

// `counts` [digits] are the warp's, all 0. Afterwards they are the numbers of
// its entries.
__device__ Ranked RankEntries(const TransposeArgs& args, const Pass& pass,
                              uint64_t first, uint32_t* counts) {
  const uint32_t lane = threadIdx.x % kWarp;
  Ranked ranked;
#pragma unroll
  for (uint32_t r = 0; r < kRounds; ++r) {
    const uint64_t place =
        min(first + r * kWarp + lane, uint64_t{args.entries} - 1);
    ranked.entry[r] =
        pass.in == nullptr ? static_cast<uint32_t>(place) : pass.in[place];
  }
#pragma unroll
  for (uint32_t r = 0; r < kRounds; ++r) {
    ranked.source[r] = args.indices[ranked.entry[r]];
  }
#pragma unroll
  for (uint32_t r = 0; r < kRounds; ++r) {
    const bool valid = first + r * kWarp + lane < args.entries;
    const uint32_t digit = DigitOf(pass, ranked.source[r]);
    const uint32_t peers =
        __match_any_sync(kAllLanes, valid ? digit : kMostDigits);
    const uint32_t leader =
        static_cast<uint32_t>(__ffs(static_cast<int>(peers))) - 1;
    uint32_t before = 0;
    if (valid && lane == leader) {
      before = counts[digit];
      counts[digit] = before + static_cast<uint32_t>(__popc(peers));
    }
    before = __shfl_sync(kAllLanes, before, static_cast<int>(leader));
    ranked.rank[r] =
        before + static_cast<uint32_t>(__popc(peers & ((1u << lane) - 1)));
    __syncwarp();
  }
  return ranked;
}

__global__ void __launch_bounds__(kThreads)
    ScatterKernel(TransposeArgs args, Pass pass, Workspace workspace) {
  __shared__ uint32_t begins[kMostDigits];
  __shared__ uint32_t places[kWarps][kMostDigits];
  const uint32_t warp = threadIdx.x / kWarp;
  for (uint32_t d = threadIdx.x % kWarp; d < pass.digits; d += kWarp) {
    places[warp][d] = 0;
  }
  __syncwarp();
  const uint64_t first = uint64_t{blockIdx.x} * kTile + warp * kWarp * kRounds;
  const Ranked ranked = RankEntries(args, pass, first, places[warp]);
  FindBegins(pass, workspace, begins);
  __syncthreads();
  for (uint32_t d = threadIdx.x; d < pass.digits; d += kThreads) {
    uint32_t begin = begins[d];
    for (uint32_t w = 0; w < kWarps; ++w) {
      const uint32_t count = places[w][d];
      places[w][d] = begin;
      begin += count;
    }
  }
  __syncthreads();
#pragma unroll
  for (uint32_t r = 0; r < kRounds; ++r) {
    if (first + r * kWarp + threadIdx.x % kWarp >= args.entries) break;
    const uint32_t source = ranked.source[r];
    const uint32_t place = places[warp][DigitOf(pass, source)] + ranked.rank[r];
    pass.out[place] = ranked.entry[r];
    if (!pass.last) continue;
    workspace.sources[place] = source;
    args.out_indices[place] = workspace.destinations[ranked.entry[r]];
  }
}

// Finds the first of the sorted sources that is not below each source.
__global__ void __launch_bounds__(kThreads)
    FindListsKernel(TransposeArgs args, const uint32_t* sources) {
  const uint64_t source = uint64_t{blockIdx.x} * kThreads + threadIdx.x;
  if (source > args.num_sources) return;
  uint32_t begin = 0;
  uint32_t end = args.entries;
  while (begin < end) {
    const uint32_t middle = begin + (end - begin) / 2;
    if (sources[middle] < source) {
      begin = middle + 1;
    } else {
      end = middle;
    }
  }
  args.out_indptr[source] = begin;
}

struct Passes {
  uint32_t count;
  uint32_t bits;  // Bits that each pass sorts by.
};
Passes PassesFor(uint32_t num_sources) {
  uint32_t bits = 1;
  while (uint64_t{num_sources} > uint64_t{1} << bits) ++bits;
  const uint32_t count = (bits + kMostDigitBits - 1) / kMostDigitBits;
  return {count, (bits + count - 1) / count};
}

uint64_t TilesFor(uint32_t entries) {
  return (uint64_t{entries} + kTile - 1) / kTile;
}

Workspace Divide(const TransposeArgs& args, uint32_t digits) {
  const uint64_t entries = args.entries;
  const uint64_t tiles = TilesFor(args.entries);
  uint32_t* const totals = args.workspace + 3 * entries + digits * tiles;
  return {args.workspace,
          args.workspace + entries,
          args.workspace + 2 * entries,
          args.workspace + 3 * entries,
          totals,
          static_cast<uint32_t>(tiles)};
}

cudaError_t LaunchPass(const TransposeArgs& args, const Pass& pass,
                       const Workspace& workspace, cudaStream_t stream) {
  const Grid tiles = {.blocks = workspace.tiles, .threads = kThreads};
  cudaError_t error =
      Launch(CountDigitsKernel, tiles, stream, args, pass, workspace);
  if (error != cudaSuccess) return error;
  error = Launch(
      ScanTilesKernel,
      {.blocks = (pass.digits + kWarps - 1) / kWarps, .threads = kThreads},
      stream, pass, workspace);
  if (error != cudaSuccess) return error;
  return Launch(ScatterKernel, tiles, stream, args, pass, workspace);
}

}  // namespace

uint64_t TransposeWords(uint32_t num_sources, uint32_t entries) {
  const uint64_t digits = uint64_t{1} << PassesFor(num_sources).bits;
  return uint64_t{3} * entries + digits * (TilesFor(entries) + 1);
}

cudaError_t LaunchTranspose(const TransposeArgs& args, cudaStream_t stream) {
  const auto [num_passes, bits] = PassesFor(args.num_sources);
  const Workspace workspace = Divide(args, 1u << bits);
  cudaError_t error = Launch(
      FindDestinationsKernel,
      GridOfThreads(uint64_t{args.num_destinations} * kLanesPerDestination,
                    kThreads),
      stream, args, workspace.destinations);
  const uint32_t* in = nullptr;
  for (uint32_t p = 0; p < num_passes && error == cudaSuccess; ++p) {
    const uint32_t left = num_passes - 1 - p;
    uint32_t* const out = left % 2 == 0 ? args.out_entries : workspace.sorted;
    const Pass pass = {in, out, p * bits, 1u << bits, left == 0};
    if (args.entries > 0) error = LaunchPass(args, pass, workspace, stream);
    in = out;
  }
  if (error != cudaSuccess) return error;
  return Launch(FindListsKernel,
                GridOfThreads(uint64_t{args.num_sources} + 1, kThreads), stream,
                args, workspace.sources);
}

}  // namespace fgnn
