// A batch's record in shared memory. One trainer writes the record while the
// scheduler may read it. A reader sees the whole record or none.
#include "shared/queue/record_words.h"

#include <array>
#include <bit>
#include <cstddef>

#include "shared/queue/gradient_board.h"
#include "shared/queue/slot_word.h"

namespace fgnn {
namespace {

constexpr size_t kWords = sizeof(BatchRecord) / sizeof(uint64_t);
using Words = std::array<uint64_t, kWords>;
static_assert(sizeof(Words) == sizeof(BatchRecord));
static_assert(offsetof(BatchRecord, seq_plus_one) == 0);

}  // namespace

// Stores 0 to words[0], then the fields (release), then seq_plus_one (release).
// A reader that loads a new field (acquire) also sees that 0, or a later value
// of words[0]. So the second load of words[0] in LoadRecord() detects the
// change.
void StoreRecord(uint64_t* words, const BatchRecord& record) {
  const Words values = std::bit_cast<Words>(record);
  SharedWord(words[0]).store(0, std::memory_order_relaxed);
  for (size_t i = 1; i < kWords; ++i) {
    SharedWord(words[i]).store(values[i], std::memory_order_release);
  }
  SharedWord(words[0]).store(values[0], std::memory_order_release);
}

std::optional<BatchRecord> LoadRecord(uint64_t* words, BatchSeq seq) {
  Words values;
  for (size_t i = 0; i < kWords; ++i) {
    values[i] = SharedWord(words[i]).load(std::memory_order_acquire);
  }
  const uint64_t again = SharedWord(words[0]).load(std::memory_order_relaxed);
  const uint64_t expected = seq.value() + 1;
  if (values[0] != expected || again != expected) return std::nullopt;
  return std::bit_cast<BatchRecord>(values);
}

}  // namespace fgnn
