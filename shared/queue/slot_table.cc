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
  // The low 32 bits hold the block's index + 1; 0 is the slot's own block.
  const uint32_t block_plus_one = static_cast<uint32_t>(word);
  if (block_plus_one != 0) place.overflow_block = block_plus_one - 1;
  return place;
}

uint64_t SlotPlace::Pack() const {
  const uint64_t block_plus_one =
      overflow_block.has_value() ? uint64_t{*overflow_block} + 1 : 0;
  return (uint64_t{PlainIndex(sampler)} << kSamplerShift) | block_plus_one;
}

std::optional<TaskNumber> SlotTable::FindLowest(
    SlotState state, const TaskRange& tasks,
    std::optional<uint32_t> part) const {
  // All tasks below oldest_task are released, and a released task stays
  // released. The hint only saves looks at slots that hold later tasks.
  const SharedWord hint(regions_.control().oldest_task);
  const TaskNumber oldest = std::min(
      TaskNumber(hint.load(std::memory_order_relaxed)), shape_.num_tasks());
  const TaskNumber begin = std::max(tasks.begin, oldest);
  const TaskNumber last = std::min(tasks.end, shape_.num_tasks());
  if (begin >= last) return std::nullopt;

  const bool has_parts = segment_.options().parts > 1;
  const auto is_wanted = [&](TaskNumber task) {
    if (!has_parts) return true;
    if (part.has_value() && shape_.TaskOf(task).part != *part) return false;
    return state == SlotState::kReady ? IsWhole(task) : HasRoom(task);
  };
  std::optional<TaskNumber> found_ahead;
  TaskNumber released_below = begin;
  TaskSlot at = shape_.SlotOf(begin);
  const TaskNumber end = std::min(last, begin + shape_.num_slots());
  for (TaskNumber task = begin; task < end; ++task, at = shape_.Next(at)) {
    const SlotWord word = Load(at.slot);
    // No process could move a damaged word that has an owner in this state.
    const bool matches = word.state == state && word.owner == kNoOwner;
    if (word.generation == at.generation && matches && is_wanted(task)) {
      found_ahead = task;
      break;  // Slots with a later generation hold tasks beyond this window.
    }
    if (word.generation > at.generation) {
      if (released_below == task) ++released_below;
      const TaskNumber ahead = TaskIn(at.slot, word);
      if (matches && ahead < last && is_wanted(ahead)) {
        found_ahead = std::min(ahead, found_ahead.value_or(ahead));
      }
    }
  }
  if (begin == oldest && released_below > oldest) {
    RaiseTo(hint, released_below.value());
  }
  return found_ahead;
}

bool SlotTable::IsWhole(TaskNumber task) const {
  const TaskRange batch = TasksOfBatchOf(shape_, task);
  TaskSlot at = shape_.SlotOf(batch.begin);
  for (TaskNumber part = batch.begin; part < batch.end; ++part) {
    const SlotWord word = Load(at.slot);
    // In an earlier generation, the slot still holds an earlier batch.
    if (word.generation < at.generation) return false;
    if (word.generation == at.generation &&
        (word.state == SlotState::kFree || word.state == SlotState::kWriting)) {
      return false;
    }
    at = shape_.Next(at);
  }
  return true;
}

bool SlotTable::HasRoom(TaskNumber task) const {
  const TaskRange batch = TasksOfBatchOf(shape_, task);
  TaskSlot at = shape_.SlotOf(batch.begin);
  for (TaskNumber part = batch.begin; part < batch.end; ++part) {
    if (Load(at.slot).generation < at.generation) return false;
    at = shape_.Next(at);
  }
  return true;
}

void SlotTable::FreeAllFrom(TaskNumber first) const {
  const TaskNumber end = first + shape_.num_slots();
  for (TaskNumber task = first; task < end; ++task) {
    regions_.slot_word(shape_.SlotOf(task).slot)
        .store(WordOf(task, SlotState::kFree, kNoOwner).Pack(),
               std::memory_order_relaxed);
  }
  RaiseTo(SharedWord(regions_.control().oldest_task), first.value());
}

bool SlotTable::Move(TaskNumber task, SlotWord from, SlotWord to) const {
  const OverflowBlocks overflow(*this, segment_);
  // Looked up before the step: after the step another process may have the
  // slot.
  const std::optional<OverflowBlocks::Hold> hold =
      to.state == SlotState::kFree ? overflow.HoldOf(task) : std::nullopt;
  uint64_t expected = from.Pack();
  if (!regions_.slot_word(shape_.SlotOf(task).slot)
           .compare_exchange_strong(expected, to.Pack(),
                                    std::memory_order_acq_rel,
                                    std::memory_order_relaxed)) {
    return false;
  }
  // A process that is killed here leaves a block whose word names a task that
  // is not in the block any more. OverflowBlocks::TryTake() detects that.
  if (hold.has_value()) overflow.Free(*hold);
  return true;
}

}  // namespace fgnn
