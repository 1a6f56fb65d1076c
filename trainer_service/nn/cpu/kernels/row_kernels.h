// Operations of one thread on rows that lie side by side: sums, in f32 and in a
// fixed order, and rounding.
#ifndef FGNN_TRAINER_SERVICE_NN_CPU_KERNELS_ROW_KERNELS_H_
#define FGNN_TRAINER_SERVICE_NN_CPU_KERNELS_ROW_KERNELS_H_

#include <cstdint>

#include "absl/types/span.h"
#include "trainer_service/compute/widen.h"

namespace fgnn {

// Fills out [rows, columns] with copies of `row` [columns].
void RepeatRow(const float* row, int64_t columns, int64_t rows, float* out);

// Adds `row` [columns] to each row of out [rows, columns].
void AddRow(const float* row, int64_t columns, int64_t rows, float* out);

// Sets out [columns] to the sum of x [rows, columns] over its rows.
void SumOfRows(const float* x, int64_t rows, int64_t columns, float* out);
void SumOfRows(const Bfloat16* x, int64_t rows, int64_t columns, float* out);

// Writes `count` numbers, which were computed in f32, to `to`, rounded. Floats
// were computed in their place: to == from.
inline void StoreRows(const float* /*from*/, int64_t /*count*/, float* /*to*/) {
}
inline void StoreRows(const float* from, int64_t count, Bfloat16* to) {
  RoundToBfloat16s(from, count, to);
}

// Returns the number of rows of a chunk. Sums over all rows of a batch are
// first taken over chunks. The chunk depends on the size of the work alone, so
// that the bits do too.
int64_t RowsPerPartial(int64_t rows);
// Number of elements of one task of SumOfPartials().
inline constexpr int64_t kFloatsPerSumTask = 16384;

// Sets out to the sum of `count` arrays of its size, `stride` floats apart, in
// their order; to zeros if there are none.
void SumOfPartials(const float* partials, int64_t count, int64_t stride,
                   absl::Span<float> out);

}  // namespace fgnn

#endif  // FGNN_TRAINER_SERVICE_NN_CPU_KERNELS_ROW_KERNELS_H_
