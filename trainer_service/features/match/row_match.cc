#include "trainer_service/features/match/row_match.h"

#include <algorithm>

namespace fgnn {
namespace {

// Entries for each kept row. At this load a search looks at two entries or so.
constexpr uint64_t kEntriesPerRow = 2;
// 2^32 by the golden ratio: ids that follow each other lie far apart.
constexpr uint32_t kSpread = 2654435769;

}  // namespace

// Returns the entries of a table that is made for so many rows. The next batch
// may be a bit larger.
uint64_t RowMatch::EntriesFor(uint64_t num_rows) {
  const uint64_t need = num_rows * kEntriesPerRow;
  return need + need / 10;
}

uint64_t RowMatch::BytesFor(uint64_t num_nodes) {
  return EntriesFor(num_nodes) * sizeof(Entry);
}

uint64_t RowMatch::SlotOf(GlobalId node) const {
  const uint32_t spread = node * kSpread;
  return uint64_t{spread} * entries_.size() >> 32;
}

void RowMatch::Forget() {
  begin_ += num_rows_;
  num_rows_ = 0;
  num_kept_ = 0;
}

void RowMatch::Begin(uint64_t num_rows, uint64_t num_kept) {
  Forget();
  if (num_kept * kEntriesPerRow > entries_.size()) {
    std::vector<Entry>().swap(entries_);  // There may be no room for both.
    entries_.resize(EntriesFor(num_kept));
  }
  if (num_rows > numbers_end_ - begin_) {
    std::fill(entries_.begin(), entries_.end(), Entry());
    begin_ = 1;
  }
  num_rows_ = static_cast<uint32_t>(num_rows);
  num_kept_ = num_kept;
}

void RowMatch::Keep(const BatchMisses& misses) {
  const size_t count = misses.nodes.size();
  uint64_t num_kept = 0;
  for (size_t i = 0; i < count; ++i) num_kept += misses.Has(i) ? 1 : 0;
  Begin(count, num_kept);
  for (size_t i = 0; i < count; ++i) {
    if (!misses.Has(i)) continue;
    const GlobalId node = misses.nodes[i];
    uint64_t slot = SlotOf(node);
    while (Counts(entries_[slot]) && entries_[slot].node != node) {
      slot = slot + 1 == entries_.size() ? 0 : slot + 1;
    }
    if (Counts(entries_[slot])) continue;
    entries_[slot] = {node, begin_ + static_cast<uint32_t>(i)};
  }
}

uint32_t RowMatch::PlaceOf(GlobalId node) const {
  if (empty()) return kNotKept;
  uint64_t slot = SlotOf(node);
  while (Counts(entries_[slot])) {
    if (entries_[slot].node == node) return entries_[slot].number - begin_;
    slot = slot + 1 == entries_.size() ? 0 : slot + 1;
  }
  return kNotKept;
}

uint64_t RowMatch::Find(const BatchMisses& misses, uint32_t* places) const {
  uint64_t num_found = 0;
  for (size_t i = 0; i < misses.nodes.size(); ++i) {
    places[i] = misses.Has(i) ? PlaceOf(misses.nodes[i]) : 0;
    if (misses.Has(i) && places[i] != kNotKept) ++num_found;
  }
  return num_found;
}

}  // namespace fgnn
