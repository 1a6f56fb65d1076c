#include "shared/queue/overflow_blocks.h"

#include <algorithm>

#include "shared/queue/slot_table.h"

namespace fgnn {
namespace {

// Returns the task that the block's word names; nullopt: none.
std::optional<TaskNumber> HolderOf(uint64_t word) {
  const uint64_t task_plus_one = word % kGenerationLimit;
  if (task_plus_one == 0) return std::nullopt;
  return TaskNumber(task_plus_one - 1);
}

// Returns the word that follows `word`, for another holder, or for none
// (task_plus_one 0).
uint64_t NextWord(uint64_t word, uint64_t task_plus_one) {
  const uint64_t tag = (word >> kGenerationBits) + 1;
  return (tag << kGenerationBits) | task_plus_one;
}

}  // namespace

std::optional<OverflowBlocks::Hold> OverflowBlocks::HoldOf(
    TaskNumber task) const {
  const std::optional<uint32_t> block = slots_.LoadPlace(task).overflow_block;
  if (!block.has_value() || *block >= segment_.options().num_overflow_blocks) {
    return std::nullopt;
  }
  const uint64_t word =
      regions_.overflow_word(*block).load(std::memory_order_acquire);
  if (HolderOf(word) != task) return std::nullopt;
  return Hold{*block, word};
}

bool OverflowBlocks::IsUsedAgainst(uint32_t block, TaskNumber holder,
                                   TaskNumber task, bool* retracted) const {
  // A process was killed while it held this task, and the word stayed. The
  // caller has the task now.
  if (holder == task) return false;
  const SlotWord word = slots_.Load(holder);
  if (word.generation != slots_.GenerationOf(holder) ||
      word.state == SlotState::kFree ||
      slots_.LoadPlace(holder).overflow_block != block) {
    return false;
  }
  if (word.state != SlotState::kReady) return true;
  if (holder < task && !IsMissingUpTo(holder, task)) return true;
  const SlotWord free = slots_.WordOf(holder, SlotState::kFree, kNoOwner);
  uint64_t expected = word.Pack();
  if (!regions_.slot_word(segment_.shape().SlotOf(holder).slot)
           .compare_exchange_strong(expected, free.Pack(),
                                    std::memory_order_acq_rel,
                                    std::memory_order_relaxed)) {
    return true;  // A trainer was faster.
  }
  *retracted = true;
  return false;
}

bool OverflowBlocks::IsMissingUpTo(TaskNumber holder, TaskNumber task) const {
  const BatchSeq limit(SharedWord(regions_.control().sampling_limit)
                           .load(std::memory_order_acquire));
  TaskRange up_to = segment_.shape().TasksOf({BatchSeq(0), limit});
  up_to.end = std::min(up_to.end, TasksOfBatchOf(segment_.shape(), holder).end);
  if (slots_.FindLowest(SlotState::kFree, up_to).has_value()) return true;
  // With one part, such a thread waits for the same block and retracts the
  // holder itself.
  if (segment_.options().parts == 1) return false;
  const OwnerIndex sampler = slots_.Load(task).owner;
  for (uint32_t slot = 0; slot < segment_.shape().num_slots(); ++slot) {
    const SlotWord word = slots_.Load(slot);
    if (word.state != SlotState::kWriting || word.owner != sampler) continue;
    const TaskNumber written = slots_.TaskIn(slot, word);
    if (written < up_to.end && WaitsForBlock(written)) return true;
  }
  return false;
}

bool OverflowBlocks::WaitsForBlock(TaskNumber task) const {
  return slots_.LoadPlace(task).overflow_block.has_value() &&
         !HoldOf(task).has_value();
}

OverflowBlocks::Attempt OverflowBlocks::TryTake(uint32_t block,
                                                TaskNumber task) const {
  const SharedWord shared = regions_.overflow_word(block);
  Attempt attempt;
  uint64_t word = shared.load(std::memory_order_acquire);
  do {
    const std::optional<TaskNumber> holder = HolderOf(word);
    if (holder.has_value() &&
        IsUsedAgainst(block, *holder, task, &attempt.retracted)) {
      return attempt;
    }
  } while (!shared.compare_exchange_weak(word, NextWord(word, task.value() + 1),
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
