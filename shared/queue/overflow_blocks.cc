#include "shared/queue/overflow_blocks.h"

#include <algorithm>

#include "shared/queue/slot_table.h"

namespace fgnn {
namespace {

// Of a block's word.
std::optional<BatchSeq> HolderOf(uint64_t word) {
  const uint64_t seq_plus_one = word % kGenerationLimit;
  if (seq_plus_one == 0) return std::nullopt;
  return seq_plus_one - 1;
}

// The word after `word`, for another holder or for none (seq_plus_one 0).
uint64_t NextWord(uint64_t word, uint64_t seq_plus_one) {
  const uint64_t tag = (word >> kGenerationBits) + 1;
  return (tag << kGenerationBits) | seq_plus_one;
}

}  // namespace

std::optional<OverflowBlocks::Hold> OverflowBlocks::HoldOf(BatchSeq seq) const {
  const std::optional<uint32_t> block = slots_.LoadPlace(seq).overflow_block;
  if (!block.has_value() || *block >= options_.num_overflow_blocks) {
    return std::nullopt;
  }
  const uint64_t word =
      regions_.overflow_word(*block).load(std::memory_order_acquire);
  if (HolderOf(word) != seq) return std::nullopt;
  return Hold{*block, word};
}

bool OverflowBlocks::IsUsedAgainst(uint32_t block, BatchSeq holder,
                                   BatchSeq seq, bool* retracted) const {
  // Left by a process that was killed with this seq; the caller has it now.
  if (holder == seq) return false;
  const SlotWord word = slots_.Load(holder);
  if (word.generation != slots_.GenerationOf(holder) ||
      word.state == SlotState::kFree ||
      slots_.LoadPlace(holder).overflow_block != block) {
    return false;
  }
  if (word.state != SlotState::kReady) return true;
  if (holder < seq && !IsFreeBelow(holder)) return true;
  const SlotWord free = slots_.WordOf(holder, SlotState::kFree, kNoOwner);
  uint64_t expected = word.Pack();
  if (!regions_.slot_word(holder).compare_exchange_strong(
          expected, free.Pack(), std::memory_order_acq_rel,
          std::memory_order_relaxed)) {
    return true;  // A trainer was faster.
  }
  *retracted = true;
  return false;
}

bool OverflowBlocks::IsFreeBelow(BatchSeq seq) const {
  const BatchSeq limit = SharedWord(regions_.control().sampling_limit)
                             .load(std::memory_order_acquire);
  return slots_.FindLowest(SlotState::kFree, 0, std::min(limit, seq))
      .has_value();
}

OverflowBlocks::Attempt OverflowBlocks::TryTake(uint32_t block,
                                                BatchSeq seq) const {
  const SharedWord shared = regions_.overflow_word(block);
  Attempt attempt;
  uint64_t word = shared.load(std::memory_order_acquire);
  do {
    const std::optional<BatchSeq> holder = HolderOf(word);
    if (holder.has_value() &&
        IsUsedAgainst(block, *holder, seq, &attempt.retracted)) {
      return attempt;
    }
  } while (!shared.compare_exchange_weak(word, NextWord(word, seq + 1),
                                         std::memory_order_acq_rel,
                                         std::memory_order_acquire));
  attempt.taken = true;
  return attempt;
}

void OverflowBlocks::Free(Hold hold) const {
  uint64_t expected = hold.word;
  regions_.overflow_word(hold.block)
      .compare_exchange_strong(expected, NextWord(hold.word, 0),
                               std::memory_order_acq_rel,
                               std::memory_order_relaxed);
}

}  // namespace fgnn
