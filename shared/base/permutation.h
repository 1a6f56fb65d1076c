// A keyed permutation of [0, n), evaluated place by place in O(1) memory. It is
// the order in which an epoch visits the train set. The permutation is a
// Feistel network of eight rounds over the next even power of two. The network
// is applied until the value lies in [0, n). The round keys come from Philox.
// The round function is Mix64, which is fast: every seed looks up a place.
// (With four rounds, small sets show a bias.)
#ifndef FGNN_SHARED_BASE_PERMUTATION_H_
#define FGNN_SHARED_BASE_PERMUTATION_H_

#include <array>
#include <cstdint>

#include "shared/base/philox.h"

namespace fgnn {

// Immutable, so safe to use from any thread. Equal (n, key) give equal
// permutations on every machine.
class KeyedPermutation {
 public:
  // n in [1, 2^62].
  KeyedPermutation(uint64_t n, PhiloxKey key);

  // Returns the value at `place`, in [0, n); a bijection. place in [0, n).
  uint64_t operator()(uint64_t place) const;

  uint64_t size() const { return size_; }

 private:
  uint64_t Encrypt(uint64_t value) const;

  static constexpr int kRounds = 8;

  uint64_t size_;
  std::array<uint64_t, kRounds> round_keys_;
  int half_bits_;
  uint64_t half_mask_;
};

}  // namespace fgnn

#endif  // FGNN_SHARED_BASE_PERMUTATION_H_
