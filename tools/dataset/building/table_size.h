// Bounds a table that is written in full from entries of a few of its cells.
#ifndef FGNN_TOOLS_DATASET_BUILDING_TABLE_SIZE_H_
#define FGNN_TOOLS_DATASET_BUILDING_TABLE_SIZE_H_

#include <cstdint>

namespace fgnn {

// Returns true if a table of so many rows and columns would hold next to
// nothing but gaps. The number of rows or columns is then probably wrong, and
// the table would fill the disk. Tables of up to 2^24 cells are never so.
inline bool IsMostlyGaps(uint64_t rows, uint64_t columns,
                         uint64_t num_entries) {
  constexpr uint64_t kSmallTable = uint64_t{1} << 24;
  constexpr uint64_t kMaxCellsPerEntry = 4096;
  uint64_t cells = 0;
  return __builtin_mul_overflow(rows, columns, &cells) ||
         (cells > kSmallTable && cells / kMaxCellsPerEntry > num_entries);
}

}  // namespace fgnn

#endif  // FGNN_TOOLS_DATASET_BUILDING_TABLE_SIZE_H_
