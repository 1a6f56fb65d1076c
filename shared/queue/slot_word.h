// The 64-bit words that name an owner: `generation:48 | owner:13 | state:3`. A
// slot's word counts generations, the board's word counts versions.
#ifndef FGNN_SHARED_QUEUE_SLOT_WORD_H_
#define FGNN_SHARED_QUEUE_SLOT_WORD_H_

#include <atomic>
#include <cstdint>

#include "shared/base/types.h"

namespace fgnn {

inline constexpr int kOwnerBits = 13;
inline constexpr int kStateBits = 3;
inline constexpr int kGenerationBits = 48;
// Generations, versions and seqs are below this.
inline constexpr uint64_t kGenerationLimit = uint64_t{1} << kGenerationBits;
static_assert(kMaxOwners < (1 << kOwnerBits));

// An unpacked word. State is an enum class of at most 3 bits.
template <typename State>
struct OwnedWord {
  State state;
  OwnerIndex owner;
  uint64_t generation;

  static constexpr OwnedWord Unpack(uint64_t word) {
    return {
        static_cast<State>(word & ((1 << kStateBits) - 1)),
        static_cast<OwnerIndex>((word >> kStateBits) & ((1 << kOwnerBits) - 1)),
        word >> (kOwnerBits + kStateBits)};
  }
  constexpr uint64_t Pack() const {
    return (generation << (kOwnerBits + kStateBits)) |
           (uint64_t{PlainIndex(owner)} << kStateBits) |
           static_cast<uint64_t>(state);
  }
};

// A word of shared memory that several processes change.
using SharedWord = std::atomic_ref<uint64_t>;
static_assert(SharedWord::is_always_lock_free,
              "a lock of the C++ library would be one per process");

// Raises `word` to `value` (seq_cst); never lowers it.
inline void RaiseTo(SharedWord word, uint64_t value) {
  uint64_t now = word.load(std::memory_order_relaxed);
  while (now < value &&
         !word.compare_exchange_weak(now, value, std::memory_order_seq_cst)) {
  }
}

}  // namespace fgnn

#endif  // FGNN_SHARED_QUEUE_SLOT_WORD_H_
