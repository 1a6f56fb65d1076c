// The overflow blocks: one per sampler, of the hard bound of a task, for the
// rare task that its slot's block cannot hold.
//
// A word per block, `tag:16 | seq + 1:48`, names the batch that lies in it (0:
// none); the tag changes with every change, so that no change is mistaken for
// an earlier one. The word alone does not make a block used: the batch's slot
// must still be at that seq, be taken or READY, and point back at the block.
// So a process killed between the steps of taking or freeing one leaves a block
// that its next user can tell is free. For the files of this folder.
#ifndef FGNN_SHARED_QUEUE_OVERFLOW_BLOCKS_H_
#define FGNN_SHARED_QUEUE_OVERFLOW_BLOCKS_H_

#include <cstdint>
#include <optional>

#include "shared/base/types.h"
#include "shared/queue/segment_layout.h"

namespace fgnn {

class SlotTable;

// Thread-safe. Borrows all three.
class OverflowBlocks {
 public:
  // A block that holds a batch's task, as it was when looked up.
  struct Hold {
    uint32_t block;
    uint64_t word;
  };
  struct Attempt {
    bool taken = false;
    bool retracted = false;  // A slot became FREE on the way: announce it.
  };

  OverflowBlocks(const SlotTable& slots, const SegmentOptions& options,
                 const Segment::Regions& regions)
      : slots_(slots), options_(options), regions_(regions) {}

  // The overflow block that holds the task of `seq`, if one does.
  std::optional<Hold> HoldOf(BatchSeq seq) const;

  // Takes `block` for `seq`, whose WRITING slot the caller owns and has pointed
  // at the block already (SlotTable::StorePlace). A READY task in it is
  // retracted if its seq is later, or if a batch before it is FREE: trainers
  // may wait for that batch, and the sampler that should make it is the one
  // that waits here. Not taken while another READY task, or one that is being
  // written or read, lies there. block < num_overflow_blocks.
  Attempt TryTake(uint32_t block, BatchSeq seq) const;

  // Frees the block unless its word has changed since it was looked up.
  void Free(Hold hold) const;

 private:
  // False also if the holder's READY task was retracted just now.
  bool IsUsedAgainst(uint32_t block, BatchSeq holder, BatchSeq seq,
                     bool* retracted) const;
  // Whether a batch before `seq` waits to be sampled.
  bool IsFreeBelow(BatchSeq seq) const;

  const SlotTable& slots_;
  const SegmentOptions& options_;
  const Segment::Regions& regions_;
};

}  // namespace fgnn

#endif  // FGNN_SHARED_QUEUE_OVERFLOW_BLOCKS_H_
