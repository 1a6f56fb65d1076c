// The messages that the parts of a batch send each other while they are trained
// (split parallelism; GSplit). A part publishes each of its messages once. A
// message is a pure function of (version of the weights, batch, part): it stays
// there if its trainer gives the part back or dies, and the trainer that
// follows goes on behind it.
//
// The segment has a word for each message and part of each batch of a step. The
// word is seq + 1 once that message of batch seq lies in the batch's place,
// another number before.
//
//   words   u64 [W * num_messages][P]
//   places  [W] of message_bytes, each 64-byte aligned
//
// A place serves the next step's batch once the step of the former one is
// committed. All parts of the former one are done then, and nobody reads its
// messages. A word of an older batch means that the message is not there.
#ifndef FGNN_SHARED_QUEUE_MESSAGE_BOARD_H_
#define FGNN_SHARED_QUEUE_MESSAGE_BOARD_H_

#include <cstddef>
#include <cstdint>

#include "absl/types/span.h"
#include "shared/base/types.h"
#include "shared/queue/segment.h"

namespace fgnn {

// Returns how many messages a part publishes for a batch: one a hidden layer
// and direction, and one of its features if the parts share inputs.
constexpr uint64_t NumMessages(uint64_t layers, bool shares_inputs) {
  return 2 * (layers - 1) + (shares_inputs ? 1 : 0);
}

// Returns the bytes that one message of each of P parts may take at most.
// `sources`: number of the sources of the hop whose rows, of row_bytes each,
// are sent.
uint64_t MessageBytes(uint64_t num_parts, uint64_t sources, uint64_t row_bytes);

// The most bytes that the places of a step's batches may have together: half of
// a process's addresses.
inline constexpr uint64_t kMostMessageBytes = uint64_t{1} << 46;

// A trainer's view of the board. Thread-safe. Borrows the segment. A message or
// part beyond its range is reduced to the range.
class MessageBoard {
 public:
  // The segment has messages.
  explicit MessageBoard(Segment* segment) : segment_(segment) {}

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
  Segment* segment_;
};

}  // namespace fgnn

#endif  // FGNN_SHARED_QUEUE_MESSAGE_BOARD_H_
