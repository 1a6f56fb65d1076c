// How a BatchRecord lies in shared memory: word by word, seq_plus_one first.
// For the files of this folder.
#ifndef FGNN_SHARED_QUEUE_RECORD_WORDS_H_
#define FGNN_SHARED_QUEUE_RECORD_WORDS_H_

#include <cstdint>
#include <optional>

#include "shared/base/types.h"
#include "shared/queue/gradient_board.h"

namespace fgnn {

// `words`: the record's place, see Segment::Regions. One writer at a time.
void StoreRecord(uint64_t* words, const BatchRecord& record);

// The record if it is batch `seq`'s and whole.
std::optional<BatchRecord> LoadRecord(uint64_t* words, BatchSeq seq);

}  // namespace fgnn

#endif  // FGNN_SHARED_QUEUE_RECORD_WORDS_H_
