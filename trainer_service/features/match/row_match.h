// Rows that the trainer's batch before has in memory already. They are copied
// instead of loaded again (Match of FastGL, section 4.1).
#ifndef FGNN_TRAINER_SERVICE_FEATURES_MATCH_ROW_MATCH_H_
#define FGNN_TRAINER_SERVICE_FEATURES_MATCH_ROW_MATCH_H_

#include <cstdint>
#include <limits>
#include <vector>

#include "absl/types/span.h"
#include "shared/base/types.h"
#include "trainer_service/features/feature_store.h"

namespace fgnn {

// A place of RowMatch::Find(): no such row is kept.
inline constexpr uint32_t kNotKept = std::numeric_limits<uint32_t>::max();

// Says which rows of a batch were its misses, by global id. A hash table
// without erasure: the rows of all batches are numbered one after the other,
// and an entry counts if its number is one of the last batch.
//
// Find() may be called from several threads at once, beside no other call.
class RowMatch {
 public:
  // Most bytes that a batch of so many input nodes takes here.
  static uint64_t BytesFor(uint64_t num_nodes);

  // `numbers_end`: end of the numbers that rows get, of which the first is 1.
  explicit RowMatch(uint32_t numbers_end = kNotKept)
      : numbers_end_(numbers_end) {}

  // Replaces all rows by those of the misses: node i has row i, or the first of
  // its rows if it is there more than once. There are fewer nodes than numbers.
  // Throws std::bad_alloc; no row is kept then.
  void Keep(const BatchMisses& misses);
  // Keeps no row.
  void Forget();
  bool empty() const { return num_kept_ == 0; }
  // Bytes of the table.
  uint64_t bytes() const { return entries_.capacity() * sizeof(Entry); }

  // Sets places[i] to the kept row of node i of `misses`, or to kNotKept; to 0
  // if node i is no miss. Returns how many misses are kept.
  uint64_t Find(const BatchMisses& misses, uint32_t* places) const;
  // Returns the kept row of a node, or kNotKept.
  uint32_t PlaceOf(GlobalId node) const;
  // Calls found(node, row) for all rows that are kept, in no order.
  template <typename Found>
  void ForEach(Found found) const {
    for (const Entry& entry : entries_) {
      if (Counts(entry)) found(entry.node, entry.number - begin_);
    }
  }

 private:
  struct Entry {
    GlobalId node = 0;
    uint32_t number = 0;  // Number of the row; 0: the entry was never used.
  };

  static uint64_t EntriesFor(uint64_t num_rows);
  // Returns where the search for a node begins.
  uint64_t SlotOf(GlobalId node) const;
  // Returns whether the entry is of the last batch.
  bool Counts(const Entry& entry) const {
    return entry.number - begin_ < num_rows_;
  }
  // Gives the rows of the next batch their numbers, and the table room.
  void Begin(uint64_t num_rows, uint64_t num_kept);

  const uint32_t numbers_end_;
  std::vector<Entry> entries_;
  // The rows of the last batch have the numbers [begin_, begin_ + num_rows_).
  uint32_t begin_ = 1;
  uint32_t num_rows_ = 0;
  uint64_t num_kept_ = 0;
};

// A place of RowWindow::Find() is this number plus the row.
inline constexpr uint32_t kInWindow = uint32_t{1} << 31;

// Rows that lie in memory, for the nodes of a batch. Borrowed.
struct MatchedRows {
  const float* rows = nullptr;    // [rows of the batch before, F].
  const float* window = nullptr;  // [rows of a window, F]
  // From RowMatch::Find() and RowWindow::Find(), for each node of the batch;
  // empty: none is kept.
  absl::Span<const uint32_t> places;

  // Returns the row of a place that is not kNotKept.
  const float* At(uint32_t place, uint64_t num_columns) const {
    return place < kInWindow ? rows + place * num_columns
                             : window + (place - kInWindow) * num_columns;
  }
};

}  // namespace fgnn

#endif  // FGNN_TRAINER_SERVICE_FEATURES_MATCH_ROW_MATCH_H_
