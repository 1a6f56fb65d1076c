// The overflow blocks: one per sampler, of the hard bound of a task, for the
// rare task that its slot's block cannot hold.
//
// A word per block, `tag:16 | task + 1:48`, names the task that lies in it (0:
// none); the tag changes with every change, so that no change is mistaken for
// an earlier one. The word alone does not make a block used: the task's slot
// must still be at that task, be taken or READY, and point back at the block.
// So a process killed between the steps of taking or freeing one leaves a block
// that its next user can tell is free. For the files of this folder.
#ifndef FGNN_SHARED_QUEUE_OVERFLOW_BLOCKS_H_
#define FGNN_SHARED_QUEUE_OVERFLOW_BLOCKS_H_

#include <cstdint>
#include <optional>

#include "shared/queue/job_shape.h"
#include "shared/queue/segment_layout.h"

namespace fgnn {

class SlotTable;

// Thread-safe. Borrows both.
class OverflowBlocks {
 public:
  // A block that holds a task, as it was when looked up.
  struct Hold {
    uint32_t block;
    uint64_t word;
  };
  struct Attempt {
    bool taken = false;
    bool retracted = false;  // A slot became FREE on the way: announce it.
  };

  OverflowBlocks(const SlotTable& slots, const Segment& segment)
      : slots_(slots), segment_(segment), regions_(segment.regions()) {}

  // The overflow block that holds the task, if one does.
  std::optional<Hold> HoldOf(TaskNumber task) const;

  // Takes `block` for `task`, whose WRITING slot the caller owns and has
  // pointed at the block already (SlotTable::StorePlace). A READY task in it is
  // retracted if it is a later one, or if a task before it is FREE: trainers
  // may wait for that task, and the sampler that should make it is the one
  // that waits here. Not taken while another READY task, or one that is being
  // written or read, lies there. block < num_overflow_blocks.
  Attempt TryTake(uint32_t block, TaskNumber task) const;

  // Frees the block unless its word has changed since it was looked up.
  void Free(Hold hold) const;

 private:
  // False also if the holder's READY task was retracted just now.
  bool IsUsedAgainst(uint32_t block, TaskNumber holder, TaskNumber task,
                     bool* retracted) const;
  // Whether a task before this one waits to be sampled.
  bool IsFreeBelow(TaskNumber task) const;

  const SlotTable& slots_;
  const Segment& segment_;
  const Segment::Regions& regions_;
};

}  // namespace fgnn

#endif  // FGNN_SHARED_QUEUE_OVERFLOW_BLOCKS_H_
