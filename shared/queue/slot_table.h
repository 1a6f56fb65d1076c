// The words of the slots, and the steps that any process makes with them. Every
// change is one compare-and-swap, so a process that is killed anywhere leaves
// one of the four states. For the files of this folder.
#ifndef FGNN_SHARED_QUEUE_SLOT_TABLE_H_
#define FGNN_SHARED_QUEUE_SLOT_TABLE_H_

#include <cstddef>
#include <cstdint>
#include <optional>

#include "absl/types/span.h"
#include "shared/base/types.h"
#include "shared/queue/global_queue.h"
#include "shared/queue/job_shape.h"
#include "shared/queue/segment_layout.h"
#include "shared/queue/slot_word.h"

namespace fgnn {

using SlotWord = OwnedWord<SlotState>;

// Where a slot's task lies, and which sampler made the task. Only the slot's
// WRITING owner writes it. While the slot is FREE, it means nothing.
struct SlotPlace {
  OwnerIndex sampler = kNoOwner;
  std::optional<uint32_t> overflow_block;  // nullopt: the slot's own block.

  static SlotPlace Unpack(uint64_t word);
  uint64_t Pack() const;
};

// Thread-safe. Borrows the segment.
class SlotTable {
 public:
  explicit SlotTable(const Segment& segment)
      : segment_(segment),
        shape_(segment.shape()),
        regions_(segment.regions()) {}

  // Returns the generation at which a task lives in its slot.
  uint64_t GenerationOf(TaskNumber task) const {
    return shape_.SlotOf(task).generation;
  }
  // Returns the word of a task's slot in a state, at the task's generation.
  SlotWord WordOf(TaskNumber task, SlotState state, OwnerIndex owner) const {
    return {state, owner, GenerationOf(task)};
  }

  // Returns the lowest of the tasks whose slot is in `state` and has no owner,
  // as the slots were when it read them; nullopt: there is none. Looks at tasks
  // of `part` alone if that is given. Looks at READY tasks of whole batches
  // alone, and at FREE tasks of batches with room: see IsWhole() and HasRoom().
  std::optional<TaskNumber> FindLowest(
      SlotState state, const TaskRange& tasks,
      std::optional<uint32_t> part = std::nullopt) const;

  // Whether each part of the task's batch is READY, READING or released, as the
  // slots were when it read them. A part may be retracted or rejected between
  // this look and a claim. That is allowed: whoever trains a part of the batch
  // then finds the other part FREE, and gives its own back.
  bool IsWhole(TaskNumber task) const;

  // Whether no slot of the task's batch still holds an earlier batch, so that a
  // sampler can write all parts that are FREE: it draws the batch once. Stays
  // true once it is.
  bool HasRoom(TaskNumber task) const;

  // Makes one step of the task's slot. Returns false without a change if the
  // slot's word is not `from`. A slot that becomes FREE gives its overflow
  // block back.
  bool Move(TaskNumber task, SlotWord from, SlotWord to) const;

  // Makes each slot FREE for the first task from `first` on that lives in it.
  // Only before any other process has the segment.
  void FreeAllFrom(TaskNumber first) const;

  // TaskIn() returns the task that lives in a slot with this word. Load() reads
  // a slot's word (acquire).
  TaskNumber TaskIn(uint32_t slot, SlotWord word) const {
    return shape_.TaskIn({slot, word.generation});
  }
  SlotWord Load(uint64_t slot) const {
    return SlotWord::Unpack(
        regions_.slot_word(slot).load(std::memory_order_acquire));
  }
  SlotWord Load(TaskNumber task) const {
    return Load(shape_.SlotOf(task).slot);
  }
  SlotPlace LoadPlace(TaskNumber task) const {
    return SlotPlace::Unpack(regions_.slot_place(shape_.SlotOf(task).slot)
                                 .load(std::memory_order_acquire));
  }
  // Only for the slot's WRITING owner.
  void StorePlace(TaskNumber task, SlotPlace place) const {
    regions_.slot_place(shape_.SlotOf(task).slot)
        .store(place.Pack(), std::memory_order_release);
  }
  // The slot's own block.
  absl::Span<std::byte> Block(TaskNumber task) const {
    return regions_.slot_block(shape_.SlotOf(task).slot);
  }

 private:
  const Segment& segment_;
  const JobShape& shape_;
  const Segment::Regions& regions_;
};

}  // namespace fgnn

#endif  // FGNN_SHARED_QUEUE_SLOT_TABLE_H_
