#include "shared/base/permutation.h"

namespace fgnn {

KeyedPermutation::KeyedPermutation(uint64_t n, PhiloxKey key)
    : size_(n), half_bits_(1) {
  while ((uint64_t{1} << (2 * half_bits_)) < n) ++half_bits_;
  half_mask_ = (uint64_t{1} << half_bits_) - 1;
  for (uint32_t round = 0; round < kRounds; ++round) {
    const PhiloxBlock block = Philox4x32({round, 0, 0, 0}, key);
    round_keys_[round] = uint64_t{block.words[0]} << 32 | block.words[1];
  }
}

uint64_t KeyedPermutation::operator()(uint64_t place) const {
  // The domain is at most four times n, so the loop takes at most four rounds
  // on average. The loop ends because Encrypt() is a bijection.
  uint64_t value = Encrypt(place);
  while (value >= size_) value = Encrypt(value);
  return value;
}

uint64_t KeyedPermutation::Encrypt(uint64_t value) const {
  uint64_t left = value >> half_bits_;
  uint64_t right = value & half_mask_;
  for (const uint64_t round_key : round_keys_) {
    const uint64_t next = left ^ (Mix64(round_key ^ right) & half_mask_);
    left = right;
    right = next;
  }
  return left << half_bits_ | right;
}

}  // namespace fgnn
