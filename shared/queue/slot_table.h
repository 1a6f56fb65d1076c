// The slots' words and what a step of theirs means, for any process. Every
// change is one compare-and-swap, so that a process killed anywhere leaves a
// state with a name. For the files of this folder.
#ifndef FGNN_SHARED_QUEUE_SLOT_TABLE_H_
#define FGNN_SHARED_QUEUE_SLOT_TABLE_H_

#include <cstdint>
#include <optional>

#include "shared/base/types.h"
#include "shared/queue/global_queue.h"
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
      : options_(segment.options()), regions_(segment.regions()) {}

  // Every seq of the job is below this.
  BatchSeq end_of_job() const {
    return options_.batches_per_epoch * options_.epochs;
  }
  // The generation at which `seq` lives in its slot.
  uint64_t GenerationOf(BatchSeq seq) const { return seq / options_.num_slots; }
  // The word of the slot of `seq` in a state at seq's generation.
  SlotWord WordOf(BatchSeq seq, SlotState state, OwnerIndex owner) const {
    return {state, owner, GenerationOf(seq)};
  }

  // The lowest seq in [first, last) whose slot is in `state`. A snapshot.
  std::optional<BatchSeq> FindLowest(SlotState state, BatchSeq first,
                                     BatchSeq last) const;

  // One step of the slot of `seq`. False, and nothing changed, if the slot is
  // not in `from`. A slot that becomes FREE gives its overflow block back.
  bool Move(BatchSeq seq, SlotWord from, SlotWord to) const;

  // Each slot FREE for the first seq from `first` on that lives in it. Before
  // anybody else has the segment.
  void FreeAllFrom(BatchSeq first) const;

  // The seq that lives in slot `index` now, and its word.
  BatchSeq SeqIn(uint32_t index, SlotWord word) const {
    return word.generation * options_.num_slots + index;
  }
  SlotWord Load(BatchSeq seq) const {
    return SlotWord::Unpack(
        regions_.slot_word(seq).load(std::memory_order_acquire));
  }
  SlotPlace LoadPlace(BatchSeq seq) const {
    return SlotPlace::Unpack(
        regions_.slot_place(seq).load(std::memory_order_acquire));
  }
  // By the slot's WRITING owner alone.
  void StorePlace(BatchSeq seq, SlotPlace place) const {
    regions_.slot_place(seq).store(place.Pack(), std::memory_order_release);
  }

 private:
  const SegmentOptions& options_;
  const Segment::Regions& regions_;
};

}  // namespace fgnn

#endif  // FGNN_SHARED_QUEUE_SLOT_TABLE_H_
