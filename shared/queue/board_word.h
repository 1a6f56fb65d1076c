// The board's word: the newest version, and the owner that makes the next one.
// For the files of this folder.
#ifndef FGNN_SHARED_QUEUE_BOARD_WORD_H_
#define FGNN_SHARED_QUEUE_BOARD_WORD_H_

#include <atomic>
#include <cstdint>

#include "shared/queue/segment_layout.h"
#include "shared/queue/slot_word.h"

namespace fgnn {

enum class BoardState : uint8_t {
  kEmpty = 0,        // No weights yet; the version is 0 and means nothing.
  kLeasedEmpty = 1,  // The owner makes the first version.
  kOpen = 2,         // `generation` is the newest version.
  kLeasedOpen = 3,   // The owner makes the version after `generation`.
};
using BoardWord = OwnedWord<BoardState>;

inline SharedWord BoardWordOf(const Segment& segment) {
  return SharedWord(segment.regions().control().board_word);
}

inline BoardWord LoadBoardWord(const Segment& segment) {
  return BoardWord::Unpack(
      BoardWordOf(segment).load(std::memory_order_acquire));
}

// Returns the word as it was before the lease.
inline BoardWord Unleased(BoardWord word) {
  const bool empty = word.state == BoardState::kLeasedEmpty;
  return {empty ? BoardState::kEmpty : BoardState::kOpen, kNoOwner,
          word.generation};
}

inline bool IsLeased(BoardWord word) {
  return word.state == BoardState::kLeasedEmpty ||
         word.state == BoardState::kLeasedOpen;
}

}  // namespace fgnn

#endif  // FGNN_SHARED_QUEUE_BOARD_WORD_H_
