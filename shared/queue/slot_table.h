// The slots' words and what a step of theirs means, for any process. Every
// change is one compare-and-swap, so that a process killed anywhere leaves a
// state with a name. For the files of this folder.
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

// Beside each slot's word: where its task lies and who sampled it. Written by
// the slot's WRITING owner alone; means nothing in FREE.
struct SlotPlace {
  OwnerIndex sampler = kNoOwner;
  std::optional<uint32_t> overflow_block;  // Else the slot's own block.

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

  // The generation at which a task lives in its slot.
  uint64_t GenerationOf(TaskNumber task) const {
    return shape_.SlotOf(task).generation;
  }
  // The word of a task's slot in a state at the task's generation.
  SlotWord WordOf(TaskNumber task, SlotState state, OwnerIndex owner) const {
    return {state, owner, GenerationOf(task)};
  }

  // The lowest of the tasks whose slot is in `state`. A snapshot.
  std::optional<TaskNumber> FindLowest(SlotState state,
                                       const TaskRange& tasks) const;

  // One step of the task's slot. False, and nothing changed, if the slot is not
  // in `from`. A slot that becomes FREE gives its overflow block back.
  bool Move(TaskNumber task, SlotWord from, SlotWord to) const;

  // Each slot FREE for the first task from `first` on that lives in it. Before
  // anybody else has the segment.
  void FreeAllFrom(TaskNumber first) const;

  // The task that lives in a slot now, and its word.
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
  // By the slot's WRITING owner alone.
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
