// A small table, and rows that tell where they belong.
#ifndef FGNN_TESTS_UNIT_SHARED_HOT_TABLE_HOT_TABLE_FOR_TESTS_H_
#define FGNN_TESTS_UNIT_SHARED_HOT_TABLE_HOT_TABLE_FOR_TESTS_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>

#include "shared/hot_table/hot_table.h"

namespace fgnn {

inline constexpr uint64_t kTableJob = 0x1234;

inline HotTableShape SmallTable() {
  return {.job_key = kTableJob,
          .number = 3,
          .rank_order_key = 77,
          .rows = 43,
          .row_bytes = 24,
          .rows_per_chunk = 5};
}

// Returns byte `i` of the rows, wherever chunks begin.
inline std::byte ByteAt(uint64_t i) {
  return static_cast<std::byte>(1 + i % 251);
}

inline void FillBytes(const HotTable& table, HotTable::Chunk& chunk) {
  const uint64_t first = chunk.first_row() * table.shape().row_bytes;
  const absl::Span<std::byte> bytes = chunk.bytes();
  for (size_t i = 0; i < bytes.size(); ++i) bytes[i] = ByteAt(first + i);
}

// Fills what is free. Returns the number of chunks.
inline uint64_t FillFree(HotTable& table, OwnerIndex owner) {
  uint64_t filled = 0;
  while (std::optional<HotTable::Chunk> chunk = table.TryTake(owner)) {
    FillBytes(table, *chunk);
    std::move(*chunk).Done();
    ++filled;
  }
  return filled;
}

// Returns whether all rows that count as filled have their bytes.
inline bool IsSound(const HotTable& table) {
  const uint64_t bytes = table.filled_rows() * table.shape().row_bytes;
  for (uint64_t i = 0; i < bytes; ++i) {
    if (table.rows()[i] != ByteAt(i)) return false;
  }
  return true;
}

}  // namespace fgnn

#endif  // FGNN_TESTS_UNIT_SHARED_HOT_TABLE_HOT_TABLE_FOR_TESTS_H_
