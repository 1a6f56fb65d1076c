#include "trainer_service/nn/cpu/dropout.h"

#include <algorithm>
#include <cmath>

#include "trainer_service/compute/target_clones.h"
#include "trainer_service/nn/cpu/dropout_kernels.h"

namespace fgnn {
namespace {

constexpr int kLanes = 16;

// Philox4x32 of 16 counters in a row, lane by lane, so that the compiler makes
// vectors of it. words [64] as the tile orders them.
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

template <bool kRelu>
inline __attribute__((always_inline)) void DropInTiles(const Dropout& dropout,
                                                       int64_t first,
                                                       int64_t count,
                                                       float* values) {
  const uint32_t threshold = dropout.threshold;
  const float scale = dropout.scale;
  alignas(64) uint32_t words[kDropoutTile];
  for (int64_t at = 0; at < count; at += kDropoutTile) {
    PhiloxTile(static_cast<uint64_t>((first + at) / kDropoutTile), dropout.key,
               words);
    float* __restrict tile = values + at;
    const int64_t size = std::min(kDropoutTile, count - at);
    for (int64_t i = 0; i < size; ++i) {
      // Written so that NaN stays: it is how a run that diverges is noticed.
      const float value = kRelu && tile[i] < 0 ? 0.0F : tile[i] * scale;
      tile[i] = words[i] < threshold ? 0.0F : value;
    }
  }
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
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx512f")) {
    const int64_t in_tiles = count / kDropoutTile * kDropoutTile;
    DropTilesAvx512(dropout, relu, first, in_tiles, values);
    first += in_tiles;
    count -= in_tiles;
    values += in_tiles;
  }
#endif
  DropPortably(dropout, relu, first, count, values);
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
    gradient[i] = Widen(activations[i]) > 0 ? gradient[i] * scale : 0.0F;
  }
}

}  // namespace

Dropout Dropout::Of(double rate, PhiloxKey key) {
  Dropout dropout;
  if (!(rate > 0)) return dropout;
  dropout.key = key;
  dropout.threshold = static_cast<uint32_t>(
      std::clamp(std::round(rate * 0x1.0p32), 1.0, 0x1.0p32 - 1));
  dropout.scale = static_cast<float>(1.0 / (1.0 - rate));
  return dropout;
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
