#include "trainer_service/nn/cpu/kernels/row_kernels.h"

#include <algorithm>

#include "trainer_service/compute/target_clones.h"
#include "trainer_service/compute/thread_team.h"
#include "trainer_service/nn/cpu/kernels/dropout.h"

namespace fgnn {
namespace {

constexpr int64_t kRowsPerPartial = 2048;
constexpr int64_t kMostPartials = 16;

template <typename Number>
inline __attribute__((always_inline)) void SumOfNumbers(const Number* x,
                                                        int64_t rows,
                                                        int64_t columns,
                                                        float* out) {
  std::fill_n(out, columns, 0.0F);
  for (int64_t r = 0; r < rows; ++r) {
    for (int64_t c = 0; c < columns; ++c) out[c] += Widen(x[r * columns + c]);
  }
}

}  // namespace

void RepeatRow(const float* row, int64_t columns, int64_t rows, float* out) {
  for (int64_t r = 0; r < rows; ++r) {
    std::copy_n(row, columns, out + r * columns);
  }
}

FGNN_TARGET_CLONES
void AddRow(const float* row, int64_t columns, int64_t rows, float* out) {
  for (int64_t r = 0; r < rows; ++r) {
    for (int64_t c = 0; c < columns; ++c) out[r * columns + c] += row[c];
  }
}

FGNN_TARGET_CLONES
void SumOfRows(const float* x, int64_t rows, int64_t columns, float* out) {
  SumOfNumbers(x, rows, columns, out);
}

FGNN_TARGET_CLONES
void SumOfRows(const Bfloat16* x, int64_t rows, int64_t columns, float* out) {
  SumOfNumbers(x, rows, columns, out);
}

int64_t RowsPerPartial(int64_t rows) {
  const int64_t even = NumTasks(NumTasks(rows, kMostPartials), kDropoutTile);
  return std::max(kRowsPerPartial, even * kDropoutTile);
}

void SumOfPartials(const float* partials, int64_t count, int64_t stride,
                   absl::Span<float> out) {
  if (count == 0) return std::fill(out.begin(), out.end(), 0.0F);
  std::copy_n(partials, out.size(), out.data());
  for (int64_t p = 1; p < count; ++p) {
    AddRow(partials + p * stride, static_cast<int64_t>(out.size()), 1,
           out.data());
  }
}

}  // namespace fgnn
