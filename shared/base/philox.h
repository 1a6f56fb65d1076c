// Philox 4x32-10 (Salmon et al., "Parallel random numbers: as easy as 1, 2, 3",
// SC 2011): the counter-based generator that every random choice comes from.
// A draw depends only on its key and counter. So any number of threads,
// processes and kinds of device make the same draws. All functions are pure.
#ifndef FGNN_SHARED_BASE_PHILOX_H_
#define FGNN_SHARED_BASE_PHILOX_H_

#include <array>
#include <cstdint>

#include "shared/base/host_device.h"

namespace fgnn {

// The purpose of a random choice. Two purposes never share a stream.
enum class Purpose : uint32_t {
  kSeedPermutation = 1,
  kNeighbors = 2,
  kDropout = 3,
  kInitialWeights = 4,
  kGenerateDataset = 5,
  kSplit = 6,
  kRandomHotness = 7,
  kNegatives = 8,
  kRankedNegatives = 9,
  kEdgeSplit = 10,
  kSimulation = 11,
  kPartition = 12,
};

struct PhiloxKey {
  uint32_t word0;
  uint32_t word1;
  friend bool operator==(const PhiloxKey&, const PhiloxKey&) = default;
};

struct PhiloxCounter {
  uint32_t word0;
  uint32_t word1;
  uint32_t word2;
  uint32_t word3;
};

struct PhiloxBlock {
  uint32_t words[4];
};

// The finaliser of splitmix64: a bijection that mixes all bits.
FGNN_HOST_DEVICE constexpr uint64_t Mix64(uint64_t x) {
  x += 0x9e3779b97f4a7c15u;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}

// Returns the 64-bit key of design.md section 3: a hash of (job seed, epoch,
// batch, hop, purpose). The hop is 0 for a choice without a hop.
FGNN_HOST_DEVICE constexpr PhiloxKey MakePhiloxKey(uint64_t seed,
                                                   uint64_t epoch,
                                                   uint64_t batch, uint32_t hop,
                                                   Purpose purpose) {
  uint64_t h = Mix64(seed);
  h = Mix64(h ^ epoch);
  h = Mix64(h ^ batch);
  h = Mix64(h ^ ((uint64_t{hop} << 32) | static_cast<uint32_t>(purpose)));
  return {static_cast<uint32_t>(h), static_cast<uint32_t>(h >> 32)};
}

// Returns four independent uniform words for (counter, key).
FGNN_HOST_DEVICE constexpr PhiloxBlock Philox4x32(PhiloxCounter c,
                                                  PhiloxKey key) {
  for (int round = 0; round < 10; ++round) {
    const uint64_t p0 = uint64_t{0xD2511F53u} * c.word0;
    const uint64_t p1 = uint64_t{0xCD9E8D57u} * c.word2;
    c = {static_cast<uint32_t>(p1 >> 32) ^ c.word1 ^ key.word0,
         static_cast<uint32_t>(p1),
         static_cast<uint32_t>(p0 >> 32) ^ c.word3 ^ key.word1,
         static_cast<uint32_t>(p0)};
    key.word0 += 0x9E3779B9u;
    key.word1 += 0xBB67AE85u;
  }
  return {{c.word0, c.word1, c.word2, c.word3}};
}

// 64-bit draws of vertex v. Draw j comes from block {v, j div 2, stream, 0}:
// for even j its words 0 (low) and 1, for odd j its words 2 (low) and 3.
class PhiloxHalves {
 public:
  FGNN_HOST_DEVICE constexpr PhiloxHalves(PhiloxKey key, uint32_t v,
                                          uint32_t stream)
      : key_(key), v_(v), stream_(stream) {}

  // Returns draw j. Cheapest for ascending j.
  FGNN_HOST_DEVICE constexpr uint64_t Get(uint32_t j) {
    if (!has_block_ || j / 2 != index_) {
      index_ = j / 2;
      has_block_ = true;
      block_ = Philox4x32({v_, index_, stream_, 0}, key_);
    }
    // No index that is known at run time alone: on a GPU the words would leave
    // the registers.
    const bool odd = j % 2 != 0;
    const uint32_t low = odd ? block_.words[2] : block_.words[0];
    const uint32_t high = odd ? block_.words[3] : block_.words[1];
    return uint64_t{high} << 32 | low;
  }

 private:
  PhiloxKey key_;
  uint32_t v_;
  uint32_t stream_;
  bool has_block_ = false;
  uint32_t index_ = 0;
  PhiloxBlock block_ = {};
};

// An integer for a 128-bit product. All compilers that build FGNN have this
// extension.
__extension__ typedef unsigned __int128 Uint128;

// Returns a uniform integer in [0, range) from 64 random bits. The bias is
// below range / 2^64. range >= 1.
FGNN_HOST_DEVICE constexpr uint64_t UniformBelow(uint64_t random_bits,
                                                 uint64_t range) {
  return static_cast<uint64_t>((static_cast<Uint128>(random_bits) * range) >>
                               64);
}

// Returns a uniform float in [0, 1) with 24 bits.
FGNN_HOST_DEVICE constexpr float UniformFloat(uint32_t random_bits) {
  return static_cast<float>(random_bits >> 8) * 0x1.0p-24f;
}

}  // namespace fgnn

#endif  // FGNN_SHARED_BASE_PHILOX_H_
