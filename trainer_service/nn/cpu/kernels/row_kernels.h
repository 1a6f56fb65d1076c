// What one thread does with rows that lie side by side: their sums, in f32 and
// in a fixed order, and their rounding.
#ifndef FGNN_TRAINER_SERVICE_NN_CPU_KERNELS_ROW_KERNELS_H_
#define FGNN_TRAINER_SERVICE_NN_CPU_KERNELS_ROW_KERNELS_H_

#include <cstdint>

#include "absl/types/span.h"
#include "trainer_service/compute/widen.h"

namespace fgnn {

// out [rows, columns] = `row` [columns], again and again.
void RepeatRow(const float* row, int64_t columns, int64_t rows, float* out);

// out [rows, columns] += `row` [columns] in each.
void AddRow(const float* row, int64_t columns, int64_t rows, float* out);

// out [columns] = the sum of x [rows, columns] over its rows.
void SumOfRows(const float* x, int64_t rows, int64_t columns, float* out);
void SumOfRows(const Bfloat16* x, int64_t rows, int64_t columns, float* out);

// `count` numbers that were computed in f32, rounded to `to`. Floats were
// computed in their place: to == from.
inline void StoreRows(const float* /*from*/, int64_t /*count*/, float* /*to*/) {
}
inline void StoreRows(const float* from, int64_t count, Bfloat16* to) {
  RoundToBfloat16s(from, count, to);
}

// Sums over all rows of a batch are taken over chunks of this many rows each
// first: by the size of the work alone, so that bits depend on nothing else.
int64_t RowsPerPartial(int64_t rows);
// Elements of one task of SumOfPartials().
inline constexpr int64_t kFloatsPerSumTask = 16384;

// out = the sum of `count` arrays of its size, `stride` floats apart, in their
// order. count >= 1.
void SumOfPartials(const float* partials, int64_t count, int64_t stride,
                   absl::Span<float> out);

}  // namespace fgnn

#endif  // FGNN_TRAINER_SERVICE_NN_CPU_KERNELS_ROW_KERNELS_H_
