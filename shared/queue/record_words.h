// Words of a BatchRecord in shared memory; the first one is seq_plus_one.
// For the files of this folder.
#ifndef FGNN_SHARED_QUEUE_RECORD_WORDS_H_
#define FGNN_SHARED_QUEUE_RECORD_WORDS_H_

#include <cstdint>
#include <optional>

#include "shared/base/types.h"
#include "shared/queue/gradient_board.h"

namespace fgnn {

// Writes the record to `words`, the record's place in Segment::Regions. One
// writer at a time.
void StoreRecord(uint64_t* words, const BatchRecord& record);

// Returns the record of batch `seq`; nullopt if the record is of another batch
// or not whole.
std::optional<BatchRecord> LoadRecord(uint64_t* words, BatchSeq seq);

}  // namespace fgnn

#endif  // FGNN_SHARED_QUEUE_RECORD_WORDS_H_
