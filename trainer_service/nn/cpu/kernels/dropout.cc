#include "trainer_service/nn/cpu/kernels/dropout.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "trainer_service/compute/target_clones.h"
#include "trainer_service/nn/cpu/kernels/dropout_kernels.h"

namespace fgnn {
namespace {

constexpr int kLanes = 16;
constexpr int kWords = 4 * kLanes;  // Words of a tile.
static_assert(2 * kWords == kDropoutTile);

// Computes Philox4x32 of 16 consecutive counters, lane by lane, so that the
// compiler vectorises it. words [kWords] are in the order of the tile.
inline __attribute__((always_inline)) void PhiloxTile(uint64_t tile,
                                                      PhiloxKey key,
                                                      uint32_t* words) {
  uint32_t* c0 = words;
  uint32_t* c1 = words + kLanes;
  uint32_t* c2 = words + 2 * kLanes;
  uint32_t* c3 = words + 3 * kLanes;
  for (int i = 0; i < kLanes; ++i) {
    const uint64_t counter = tile * kLanes + static_cast<uint64_t>(i);
    c0[i] = static_cast<uint32_t>(counter);
    c1[i] = static_cast<uint32_t>(counter >> 32);
    c2[i] = 0;
    c3[i] = 0;
  }
  for (int round = 0; round < 10; ++round) {
    for (int i = 0; i < kLanes; ++i) {
      const uint64_t p0 = uint64_t{0xD2511F53u} * c0[i];
      const uint64_t p1 = uint64_t{0xCD9E8D57u} * c2[i];
      c0[i] = static_cast<uint32_t>(p1 >> 32) ^ c1[i] ^ key.word0;
      c2[i] = static_cast<uint32_t>(p0 >> 32) ^ c3[i] ^ key.word1;
      c1[i] = static_cast<uint32_t>(p1);
      c3[i] = static_cast<uint32_t>(p0);
    }
    key.word0 += 0x9E3779B9u;
    key.word1 += 0xBB67AE85u;
  }
}

// Applies dropout to value_of(i) for i in [0, count).
template <bool kRelu, typename ValueOf>
inline __attribute__((always_inline)) void DropTile(const Dropout& dropout,
                                                    const uint32_t* words,
                                                    int64_t count,
                                                    ValueOf value_of,
                                                    float* to) {
  const auto threshold = static_cast<uint16_t>(dropout.threshold);
  const float scale = dropout.scale;
  uint16_t halves[kDropoutTile];
  static_assert(std::endian::native == std::endian::little);
  std::memcpy(halves, words, sizeof(halves));
  // Computes products and comparisons of all elements, of which some are used:
  // compilers vectorise only that. NaN stays NaN, so that a run that diverges
  // is noticed.
  for (int64_t i = 0; i < count; ++i) {
    const float value = value_of(i);
    const float scaled = value * scale;
    const float positive = kRelu && value < 0 ? 0.0F : scaled;
    to[i] = halves[i] < threshold ? 0.0F : positive;
  }
}

template <bool kRelu>
inline __attribute__((always_inline)) void DropInTiles(const Dropout& dropout,
                                                       int64_t first,
                                                       int64_t count,
                                                       float* values) {
  alignas(64) uint32_t words[kWords];
  for (int64_t at = 0; at < count; at += kDropoutTile) {
    PhiloxTile(static_cast<uint64_t>((first + at) / kDropoutTile), dropout.key,
               words);
    float* const tile = values + at;
    DropTile<kRelu>(
        dropout, words, std::min(kDropoutTile, count - at),
        [tile](int64_t i) { return tile[i]; }, tile);
  }
}

FGNN_TARGET_CLONES
void FinishPortably(const Dropout& dropout, const RepeatedRow& row,
                    int64_t first, int64_t count, const float* z, float* to) {
  alignas(64) uint32_t words[kWords] = {};
  int64_t column = first % row.columns();
  for (int64_t at = 0; at < count; at += kDropoutTile) {
    if (dropout.active()) {
      PhiloxTile(static_cast<uint64_t>((first + at) / kDropoutTile),
                 dropout.key, words);
    }
    const float* const added = row.floats() + column;
    DropTile<true>(
        dropout, words, std::min(kDropoutTile, count - at),
        [=](int64_t i) { return z[at + i] + added[i]; }, to + at);
    column = (column + kDropoutTile) % row.columns();
  }
}

// Returns nullptr if this processor has no wide registers.
const DropoutKernels* WideKernels() {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx512bw")) return &kDropoutAvx512;
  if (__builtin_cpu_supports("avx2")) return &kDropoutAvx2;
#endif
  return nullptr;
}

// Returns the number of elements, from a tile's first on, that `wide` handles.
int64_t CountInTiles(const DropoutKernels* wide, int64_t count) {
  return wide == nullptr ? 0 : count / kDropoutTile * kDropoutTile;
}

FGNN_TARGET_CLONES
void DropPortably(const Dropout& dropout, bool relu, int64_t first,
                  int64_t count, float* values) {
  if (relu) {
    DropInTiles<true>(dropout, first, count, values);
  } else {
    DropInTiles<false>(dropout, first, count, values);
  }
}

void Drop(const Dropout& dropout, bool relu, int64_t first, int64_t count,
          float* values) {
  const DropoutKernels* const wide = WideKernels();
  const int64_t in_tiles = CountInTiles(wide, count);
  if (in_tiles > 0) wide->drop(dropout, relu, first, in_tiles, values);
  DropPortably(dropout, relu, first + in_tiles, count - in_tiles,
               values + in_tiles);
}

void FinishTiles(const DropoutKernels& kernels, const Dropout& dropout,
                 const RepeatedRow& row, int64_t first, int64_t count,
                 const float* z, float* to) {
  kernels.finish_floats(dropout, row, first, count, z, to);
}

void FinishTiles(const DropoutKernels& kernels, const Dropout& dropout,
                 const RepeatedRow& row, int64_t first, int64_t count,
                 const float* z, Bfloat16* to) {
  kernels.finish_bfloat16s(dropout, row, first, count, z, to);
}

void Store(const float* from, int64_t count, float* to) {
  std::copy_n(from, count, to);
}

void Store(const float* from, int64_t count, Bfloat16* to) {
  RoundToBfloat16s(from, count, to);
}

// Rounds in the registers that hold the results, or tile by tile.
template <typename Number>
void Finish(const Dropout& dropout, const RepeatedRow& row, int64_t first,
            int64_t count, const float* z, Number* to) {
  const DropoutKernels* const wide = WideKernels();
  int64_t at = CountInTiles(wide, count);
  if (at > 0) FinishTiles(*wide, dropout, row, first, at, z, to);
  for (; at < count; at += kDropoutTile) {
    const int64_t size = std::min(kDropoutTile, count - at);
    float floats[kDropoutTile];
    FinishPortably(dropout, row, first + at, size, z + at, floats);
    Store(floats, size, to + at);
  }
}

FGNN_TARGET_CLONES
void Relu(int64_t count, float* values) {
  for (int64_t i = 0; i < count; ++i) {
    values[i] = values[i] < 0 ? 0.0F : values[i];
  }
}

template <typename Number>
inline __attribute__((always_inline)) void ScaleWhereActive(
    float scale, const Number* activations, int64_t count, float* gradient) {
  for (int64_t i = 0; i < count; ++i) {
    // Computed for all elements: see DropTile().
    const float scaled = gradient[i] * scale;
    gradient[i] = Widen(activations[i]) > 0 ? scaled : 0.0F;
  }
}

}  // namespace

void RepeatedRow::Assign(absl::Span<const float> row) {
  columns_ = static_cast<int64_t>(row.size());
  float* const floats = floats_.Reserve(row.size() + kDropoutTile);
  for (size_t i = 0; i < row.size() + kDropoutTile; ++i) {
    floats[i] = row[i % row.size()];
  }
}

void ApplyDropout(const Dropout& dropout, int64_t first, int64_t count,
                  float* values) {
  if (dropout.active()) Drop(dropout, /*relu=*/false, first, count, values);
}

void ApplyReluAndDropout(const Dropout& dropout, int64_t first, int64_t count,
                         float* values) {
  if (dropout.active()) {
    Drop(dropout, /*relu=*/true, first, count, values);
  } else {
    Relu(count, values);
  }
}

void AddRowReluAndDropout(const Dropout& dropout, const RepeatedRow& row,
                          int64_t first, int64_t count, const float* z,
                          float* to) {
  Finish(dropout, row, first, count, z, to);
}

void AddRowReluAndDropout(const Dropout& dropout, const RepeatedRow& row,
                          int64_t first, int64_t count, const float* z,
                          Bfloat16* to) {
  Finish(dropout, row, first, count, z, to);
}

FGNN_TARGET_CLONES
void GradientOfReluAndDropout(float scale, const float* activations,
                              int64_t count, float* gradient) {
  ScaleWhereActive(scale, activations, count, gradient);
}

FGNN_TARGET_CLONES
void GradientOfReluAndDropout(float scale, const Bfloat16* activations,
                              int64_t count, float* gradient) {
  ScaleWhereActive(scale, activations, count, gradient);
}

}  // namespace fgnn
