#include "scheduler/planning/cache_capacity.h"

#include <algorithm>

namespace fgnn {
namespace {

// Returns fewer rows to save `beyond` bytes, as far as there are rows, and
// lowers `beyond` by the bytes saved.
uint64_t Fewer(const CacheHolders& holders, uint64_t row_bytes,
               uint64_t* beyond) {
  const uint64_t bytes = row_bytes * holders.next_count;
  if (bytes == 0) return holders.rows;
  const uint64_t rows = std::min(holders.rows, (*beyond + bytes - 1) / bytes);
  *beyond -= std::min(*beyond, rows * bytes);
  return holders.rows - rows;
}

// Returns more rows that fit into `left` bytes, and lowers `left` by the bytes
// taken.
uint64_t More(const CacheHolders& holders, uint64_t row_bytes, uint64_t* left) {
  const uint64_t bytes = row_bytes * holders.next_count;
  if (bytes == 0) return holders.rows;
  const uint64_t rows =
      std::min(holders.most_rows, holders.rows + *left / bytes);
  if (rows <= holders.rows + holders.rows / 20) return holders.rows;
  *left -= (rows - holders.rows) * bytes;
  return rows;
}

uint64_t NextPeak(const CacheUse& use) {
  const auto rows = [](const CacheHolders& holders, uint32_t count) {
    return holders.rows * count;
  };
  const uint64_t now = rows(use.trainers, use.trainers.count) +
                       rows(use.standbys, use.standbys.count);
  const uint64_t next = rows(use.trainers, use.trainers.next_count) +
                        rows(use.standbys, use.standbys.next_count);
  // Memory that falls free does not count before it was measured.
  return use.peak_bytes + (next > now ? (next - now) * use.row_bytes : 0);
}

}  // namespace

CacheRows AdaptedCacheRows(const CacheUse& use) {
  const uint64_t peak = NextPeak(use);
  CacheRows rows;
  if (peak > use.have_bytes) {
    uint64_t beyond = peak - use.have_bytes;
    rows.standby = Fewer(use.standbys, use.row_bytes, &beyond);
    rows.trainer = Fewer(use.trainers, use.row_bytes, &beyond);
    return rows;
  }
  const uint64_t usable = use.have_bytes - use.have_bytes / 16;
  uint64_t left = usable - std::min(usable, peak);
  rows.trainer = More(use.trainers, use.row_bytes, &left);
  rows.standby = More(use.standbys, use.row_bytes, &left);
  return rows;
}

}  // namespace fgnn
