// Copies rows that lie in memory, in any order, as fast as memory answers
// random reads. Rows are fetched some time before their turn.
#ifndef FGNN_TRAINER_SERVICE_COMPUTE_GATHER_ROWS_H_
#define FGNN_TRAINER_SERVICE_COMPUTE_GATHER_ROWS_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "shared/graph/dataset.h"
#include "trainer_service/compute/widen.h"

namespace fgnn {

inline constexpr size_t kPrefetchRows = 8;
// Bytes of a row that are prefetched. Beyond them the processor has seen the
// pattern and prefetches itself.
inline constexpr uint64_t kPrefetchBytes = 4096;

// Prefetches the same number of lines for each row: a number that followed from
// the address could not be predicted. `bytes` is at least 1. Always inlined:
// GCC takes a call that only prefetches for one without effect, and removes it.
inline __attribute__((always_inline)) void PrefetchRow(const std::byte* row,
                                                       uint64_t bytes) {
  constexpr uint64_t kLineBytes = 64;
  const uint64_t last = std::min(bytes, kPrefetchBytes) - 1;
  for (uint64_t at = 0; at < last; at += kLineBytes) {
    __builtin_prefetch(row + at);
  }
  __builtin_prefetch(row + last);  // A row may begin within a cache line.
}

// Calls copy(i, row_of(i)) for i in [0, count), and prefetches the rows.
// row_of(i) is called twice and must be cheap.
template <typename RowOf, typename Copy>
void ForRows(size_t count, uint64_t row_bytes, RowOf row_of, Copy copy) {
  if (row_bytes == 0) return;
  for (size_t i = 0; i < std::min(count, kPrefetchRows); ++i) {
    PrefetchRow(row_of(i), row_bytes);
  }
  for (size_t i = 0; i < count; ++i) {
    if (i + kPrefetchRows < count) {
      PrefetchRow(row_of(i + kPrefetchRows), row_bytes);
    }
    copy(i, row_of(i));
  }
}

// Copies the rows as f32 to out [count, columns].
template <typename RowOf>
void GatherRows(FeatureType type, uint64_t columns, size_t count, RowOf row_of,
                float* out) {
  ForRows(count, columns * BytesOf(type), row_of,
          [=](size_t i, const std::byte* row) {
            WidenToFloats(type, row, columns, out + i * columns);
          });
}

// Copies the rows as they are stored to out [count, row_bytes].
template <typename RowOf>
void GatherStoredRows(uint64_t row_bytes, size_t count, RowOf row_of,
                      std::byte* out) {
  ForRows(count, row_bytes, row_of, [=](size_t i, const std::byte* row) {
    std::memcpy(out + i * row_bytes, row, row_bytes);
  });
}

}  // namespace fgnn

#endif  // FGNN_TRAINER_SERVICE_COMPUTE_GATHER_ROWS_H_
