#include "shared/queue/slot_table.h"

#include <algorithm>

#include "shared/queue/overflow_blocks.h"

namespace fgnn {
namespace {

constexpr int kSamplerShift = 32;

}  // namespace

SlotPlace SlotPlace::Unpack(uint64_t word) {
  SlotPlace place;
  place.sampler = static_cast<OwnerIndex>(word >> kSamplerShift);
  // One more than the block's index; 0 is the slot's own block.
  const uint32_t block_plus_one = static_cast<uint32_t>(word);
  if (block_plus_one != 0) place.overflow_block = block_plus_one - 1;
  return place;
}

uint64_t SlotPlace::Pack() const {
  const uint64_t block_plus_one =
      overflow_block.has_value() ? uint64_t{*overflow_block} + 1 : 0;
  return (uint64_t{sampler} << kSamplerShift) | block_plus_one;
}

std::optional<BatchSeq> SlotTable::FindLowest(SlotState state, BatchSeq first,
                                              BatchSeq last) const {
  // Everything below oldest_seq is released, and released for ever: the hint
  // only spares the look at slots that have moved on.
  const SharedWord hint(regions_.control().oldest_seq);
  const BatchSeq oldest =
      std::min(hint.load(std::memory_order_relaxed), end_of_job());
  const BatchSeq begin = std::max(first, oldest);
  last = std::min(last, end_of_job());
  if (begin >= last) return std::nullopt;

  std::optional<BatchSeq> found_ahead;
  BatchSeq released_below = begin;
  uint64_t generation = begin / options_.num_slots;
  uint64_t slot = begin % options_.num_slots;
  const BatchSeq end = std::min(last, begin + options_.num_slots);
  for (BatchSeq seq = begin; seq < end; ++seq) {
    const SlotWord word = Load(seq);
    // A damaged word with an owner would never let anyone move it.
    const bool matches = word.state == state && word.owner == kNoOwner;
    if (word.generation == generation && matches) {
      found_ahead = seq;
      break;  // Slots that have moved on hold seqs beyond this window.
    }
    if (word.generation > generation) {
      if (released_below == seq) ++released_below;
      const BatchSeq ahead = SeqIn(static_cast<uint32_t>(slot), word);
      if (matches && ahead < last) {
        found_ahead = std::min(ahead, found_ahead.value_or(ahead));
      }
    }
    if (++slot == options_.num_slots) {
      slot = 0;
      ++generation;
    }
  }
  if (begin == oldest && released_below > oldest) RaiseTo(hint, released_below);
  return found_ahead;
}

void SlotTable::FreeAllFrom(BatchSeq first) const {
  for (BatchSeq seq = first; seq < first + options_.num_slots; ++seq) {
    regions_.slot_word(seq).store(
        WordOf(seq, SlotState::kFree, kNoOwner).Pack(),
        std::memory_order_relaxed);
  }
  RaiseTo(SharedWord(regions_.control().oldest_seq), first);
}

bool SlotTable::Move(BatchSeq seq, SlotWord from, SlotWord to) const {
  const OverflowBlocks overflow(*this, options_, regions_);
  // Looked up before the step: afterwards the slot may be somebody else's.
  const std::optional<OverflowBlocks::Hold> hold =
      to.state == SlotState::kFree ? overflow.HoldOf(seq) : std::nullopt;
  uint64_t expected = from.Pack();
  if (!regions_.slot_word(seq).compare_exchange_strong(
          expected, to.Pack(), std::memory_order_acq_rel,
          std::memory_order_relaxed)) {
    return false;
  }
  // A process killed here leaves a block that names a seq which has left it;
  // OverflowBlocks::TryTake() sees that.
  if (hold.has_value()) overflow.Free(*hold);
  return true;
}

}  // namespace fgnn
