#include "scheduler/planning/cache_capacity.h"

#include <algorithm>

namespace fgnn {

uint64_t AdaptedCacheRows(const CacheUse& use) {
  if (use.peak_bytes > use.have_bytes) {
    const uint64_t beyond = use.peak_bytes - use.have_bytes;
    const uint64_t rows = (beyond + use.row_bytes - 1) / use.row_bytes;
    return use.rows - std::min(use.rows, rows);
  }
  const uint64_t usable = use.have_bytes - use.have_bytes / 16;
  const uint64_t left = usable - std::min(usable, use.peak_bytes);
  const uint64_t rows =
      std::min(use.most_rows, use.rows + left / use.row_bytes);
  return rows > use.rows + use.rows / 20 ? rows : use.rows;
}

}  // namespace fgnn
