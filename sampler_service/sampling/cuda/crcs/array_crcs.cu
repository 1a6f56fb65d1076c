#include "sampler_service/sampling/cuda/crcs/array_crcs.h"
#include "shared/device/cuda/block_scan.cuh"
#include "shared/device/cuda/launch.h"

// A thread reads 16 bytes of each row of its chunk, and moves their sum over a
// row before it adds the next 16. At the chunk's end each thread moves its sum
// over what follows in the row. The block adds these sums, and moves the result
// over the rows behind the chunk.
//
// The loop multiplies by two constants: four look-ups of a byte each, in 8 KiB
// of shared memory. Bit by bit a product takes ten times the instructions.

namespace fgnn {
namespace {

constexpr uint32_t kThreads = 256;
constexpr uint32_t kThreadWords = 4;  // Words of a row for each thread.
constexpr int64_t kWordBytes = sizeof(uint32_t);
constexpr int64_t kRowBytes = kCrcRowWords * kWordBytes;
static_assert(kThreads * kThreadWords == kCrcRowWords);

// Products of a constant with the four bytes of a word, at their places.
struct ByteProducts {
  uint32_t of[4][256];
};

// Returns products of the factor that moves a polynomial over `bytes` bytes.
constexpr ByteProducts ProductsOver(int64_t bytes) {
  ByteProducts products = {};
  uint32_t factor = MoveCrc32c(kCrc32cOne, bytes);
  for (uint32_t power = 0; power < 32; ++power) {
    const uint32_t bit = 31 - power;
    products.of[bit / 8][1u << bit % 8] = factor;
    factor = Crc32cTimesX(factor);
  }
  for (uint32_t b = 0; b < 4; ++b) {
    for (uint32_t value = 1; value < 256; ++value) {
      const uint32_t rest = value & (value - 1);
      products.of[b][value] =
          products.of[b][rest] ^ products.of[b][value ^ rest];
    }
  }
  return products;
}

struct Constants {
  ByteProducts by_word = ProductsOver(kWordBytes);
  ByteProducts by_row = ProductsOver(kRowBytes);
  // By thread: what moves its words to the row's end, and makes a remainder.
  uint32_t to_row_end[kThreads] = {};
  // By power of two: what moves a chunk over so many rows. An array has at most
  // 2^22 rows.
  uint32_t over_rows[22] = {};
};

constexpr Constants MakeConstants() {
  Constants made;
  uint32_t power = MoveCrc32c(kCrc32cOne, kWordBytes);
  for (uint32_t t = kThreads; t-- > 0;) {
    made.to_row_end[t] = power;
    power = MoveCrc32c(power, kThreadWords * kWordBytes);
  }
  for (uint32_t i = 0; i < 22; ++i) {
    made.over_rows[i] = MoveCrc32c(kCrc32cOne, kRowBytes << i);
  }
  return made;
}

__device__ constexpr Constants kConstants = MakeConstants();

__device__ inline uint32_t Times(const ByteProducts& products, uint32_t p) {
  return products.of[0][p & 255] ^ products.of[1][p >> 8 & 255] ^
         products.of[2][p >> 16 & 255] ^ products.of[3][p >> 24];
}

// Reads four words at a place that is a multiple of four; 0 behind the end.
__device__ inline uint4 WordsAt(const uint32_t* words, uint32_t num_words,
                                uint64_t at) {
  if (at + 4 <= num_words) return *reinterpret_cast<const uint4*>(words + at);
  return {at < num_words ? words[at] : 0,
          at + 1 < num_words ? words[at + 1] : 0,
          at + 2 < num_words ? words[at + 2] : 0, 0};
}

// Part of an array that a block works on.
struct Chunk {
  uint32_t array;
  uint32_t number;  // In its array.
};

// Goes on to the array that a chunk lies in, if its number is beyond the end of
// its own. Returns false behind the last.
__device__ inline bool FindArray(const uint32_t* num_words, uint32_t num_arrays,
                                 Chunk* chunk) {
  for (; chunk->array < num_arrays; ++chunk->array) {
    const uint32_t chunks =
        static_cast<uint32_t>(CrcChunks(num_words[chunk->array]));
    if (chunk->number < chunks) return true;
    chunk->number -= chunks;
  }
  return false;
}

// Returns the thread's sum over rows [row, end) of an array, at most a chunk's.
__device__ inline uint32_t SumOfRows(const ByteProducts& by_word,
                                     const ByteProducts& by_row,
                                     const uint32_t* words, uint32_t num_words,
                                     uint32_t row, uint32_t end) {
  uint4 read[kCrcChunkRows];
#pragma unroll
  for (uint32_t i = 0; i < kCrcChunkRows; ++i) {
    read[i] =
        WordsAt(words, num_words,
                uint64_t{row + i} * kCrcRowWords + threadIdx.x * kThreadWords);
  }
  uint32_t sum = 0;
#pragma unroll
  for (uint32_t i = 0; i < kCrcChunkRows; ++i) {
    if (row + i >= end) break;
    uint32_t four = Times(by_word, read[i].x) ^ read[i].y;
    four = Times(by_word, four) ^ read[i].z;
    four = Times(by_word, four) ^ read[i].w;
    sum = Times(by_row, sum) ^ four;
  }
  return sum;
}

// Returns the chunk's remainder at the array's end, `rows` rows behind its own.
__device__ inline uint32_t MoveOverRows(uint32_t remainder, uint32_t rows) {
  for (uint32_t i = 0; rows >> i != 0; ++i) {
    if ((rows >> i & 1) != 0) {
      remainder = Crc32cProduct(remainder, kConstants.over_rows[i]);
    }
  }
  return remainder;
}

__global__ void __launch_bounds__(kThreads)
    ArrayCrcsKernel(ArrayCrcsArgs args) {
  __shared__ uint32_t num_words[kMaxCrcArrays];
  __shared__ ByteProducts by_word;
  __shared__ ByteProducts by_row;
  __shared__ uint32_t warps[kThreads / kWarpThreads];
  const uint32_t thread = threadIdx.x;
  if (thread < args.num_arrays) {
    num_words[thread] = *args.arrays[thread].count + args.arrays[thread].more;
  }
  __syncthreads();
  Chunk chunk = {0, blockIdx.x};
  if (!FindArray(num_words, args.num_arrays, &chunk)) return;
#pragma unroll
  for (uint32_t b = 0; b < 4; ++b) {
    by_word.of[b][thread] = kConstants.by_word.of[b][thread];
    by_row.of[b][thread] = kConstants.by_row.of[b][thread];
  }
  do {
    const uint32_t size = num_words[chunk.array];
    const uint32_t num_rows = static_cast<uint32_t>(
        (uint64_t{size} + kCrcRowWords - 1) / kCrcRowWords);
    const uint32_t row = chunk.number * kCrcChunkRows;
    const uint32_t end = min(num_rows, row + kCrcChunkRows);
    __syncthreads();  // The tables stand; warps[] has been read.
    uint32_t sum =
        Crc32cProduct(SumOfRows(by_word, by_row, args.arrays[chunk.array].words,
                                size, row, end),
                      kConstants.to_row_end[thread]);
#pragma unroll
    for (int lanes = kWarpThreads / 2; lanes > 0; lanes /= 2) {
      sum ^= __shfl_xor_sync(kAllLanes, sum, lanes);
    }
    if (thread % kWarpThreads == 0) warps[thread / kWarpThreads] = sum;
    __syncthreads();
    if (thread == 0) {
      for (uint32_t w = 1; w < kThreads / kWarpThreads; ++w) sum ^= warps[w];
      atomicXor(&args.remainders[chunk.array],
                MoveOverRows(sum, num_rows - end));
    }
    chunk.number += gridDim.x;
  } while (FindArray(num_words, args.num_arrays, &chunk));
}

}  // namespace

cudaError_t LaunchArrayCrcs(const ArrayCrcsArgs& args, cudaStream_t stream) {
  return Launch(ArrayCrcsKernel,
                {.blocks = args.num_blocks, .threads = kThreads}, stream, args);
}

}  // namespace fgnn
