// The messages that the parts of a batch send each other while they are trained
// (split parallelism; GSplit). A part publishes each of its messages once. A
// message is a pure function of (version of the weights, batch, part): it stays
// there if its trainer gives the part back or dies, and the trainer that
// follows goes on behind it.
//
// The segment has a word for each message and part of each batch of a step. The
// word is seq + 1 once that message of batch seq lies in the memory, another
// number before. The bytes lie in memory outside the segment, which all
// trainers of the job map: one place for each batch of a step.
//
//   words   u64 [W * num_messages][P]   in the segment
//   memory  [W] places of message_bytes, each 64-byte aligned
//
// A place serves the next step's batch once the step of the former one is
// committed. All parts of the former one are done then, and nobody reads its
// messages. A word of an older batch means that the message is not there.
#ifndef FGNN_SHARED_QUEUE_MESSAGE_BOARD_H_
#define FGNN_SHARED_QUEUE_MESSAGE_BOARD_H_

#include <cstddef>
#include <cstdint>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "shared/base/types.h"
#include "shared/queue/segment.h"

namespace fgnn {

// A trainer's view of the board. Thread-safe. Borrows the segment and the
// memory. A message or part beyond its range is reduced to the range.
class MessageBoard {
 public:
  // Returns the bytes of memory that a job's board needs, below 2^64; 0: the
  // job has no messages.
  static uint64_t MemoryBytes(const SegmentOptions& options);

  // `memory`: the same for all trainers and as long as the segment lives, since
  // the segment's words say what lies in it.
  // Returns InvalidArgument if the memory is too small or not 64-byte aligned,
  // and FailedPrecondition if the job has no messages.
  static absl::StatusOr<MessageBoard> Over(Segment* segment,
                                           absl::Span<std::byte> memory);

  // Whether that message of the part lies in the batch's place. If it does, its
  // bytes may be read until this caller's own part of the batch is done.
  bool IsThere(BatchSeq seq, uint32_t message, uint32_t part) const;

  // Returns the batch's place, [message_bytes]. The caller knows where in it
  // each message lies. The batch belongs to the step that is open. Only the
  // holder of a part writes the part's messages, and only those that are not
  // there.
  absl::Span<std::byte> BytesOf(BatchSeq seq) const;

  // Publishes a message whose bytes the caller has written. Trainers that wait
  // for a change of the gradient board wake up (GradientBoard::WaitForChange).
  // Does nothing if the message is there already.
  void Publish(BatchSeq seq, uint32_t message, uint32_t part);

 private:
  MessageBoard(Segment* segment, absl::Span<std::byte> memory)
      : segment_(segment), memory_(memory) {}

  Segment* segment_;
  absl::Span<std::byte> memory_;
};

}  // namespace fgnn

#endif  // FGNN_SHARED_QUEUE_MESSAGE_BOARD_H_
