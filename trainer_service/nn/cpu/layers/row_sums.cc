#include "trainer_service/nn/cpu/layers/row_sums.h"

#include <algorithm>
#include <cstdint>
#include <numeric>

#include "shared/base/status.h"
#include "trainer_service/compute/target_clones.h"
#include "trainer_service/nn/cpu/kernels/row_kernels.h"

namespace fgnn {
namespace {

template <typename Number>
inline __attribute__((always_inline)) void AddProductsOf(const Number* x,
                                                         const Number* y,
                                                         int64_t rows,
                                                         int64_t columns,
                                                         float* out) {
  for (int64_t r = 0; r < rows; ++r) {
    for (int64_t c = 0; c < columns; ++c) {
      out[c] += Widen(x[r * columns + c]) * Widen(y[r * columns + c]);
    }
  }
}

// Adds to out [columns] the products of x's and y's elements [rows, columns].
FGNN_TARGET_CLONES
void AddProducts(const float* x, const float* y, int64_t rows, int64_t columns,
                 float* out) {
  AddProductsOf(x, y, rows, columns, out);
}

FGNN_TARGET_CLONES
void AddProducts(const Bfloat16* x, const Bfloat16* y, int64_t rows,
                 int64_t columns, float* out) {
  AddProductsOf(x, y, rows, columns, out);
}

}  // namespace

template <typename Number>
absl::Status RowSums<Number>::OfProducts(const FactorOf<Number>& a,
                                         const FactorOf<Number>& b,
                                         absl::Span<float> out) {
  const int64_t chunk = RowsPerPartial(a.rows);
  const int64_t num_chunks = NumTasks(a.rows, chunk);
  const int64_t size = a.columns * b.columns;
  const int64_t stride = NumTasks(size, 16) * 16;  // Whole cache lines.
  float* partials =
      partials_buffer_.Floats(static_cast<size_t>(stride * num_chunks));
  FGNN_RETURN_IF_ERROR(team_->Run(num_chunks, [&](int64_t task, int worker) {
    const int64_t first = task * chunk;
    const int64_t rows = std::min(chunk, a.rows - first);
    ProductOverRows<Number>({a.data + first * a.columns, rows, a.columns},
                            {b.data + first * b.columns, rows, b.columns},
                            &blocks_[static_cast<size_t>(worker)],
                            partials + task * stride);
  }));
  return team_->Run(NumTasks(size, kFloatsPerSumTask), [&](int64_t task, int) {
    const int64_t first = task * kFloatsPerSumTask;
    SumOfPartials(partials + first, num_chunks, stride,
                  out.subspan(static_cast<size_t>(first),
                              static_cast<size_t>(kFloatsPerSumTask)));
  });
}

template <typename Number>
absl::Status RowSums<Number>::OverChunks(int64_t rows, AddRows add,
                                         absl::Span<float> out) {
  const int64_t columns = static_cast<int64_t>(out.size());
  const int64_t chunk = RowsPerPartial(rows);
  const int64_t num_chunks = NumTasks(rows, chunk);
  const int64_t stride = NumTasks(columns, 16) * 16;
  float* partials =
      partials_buffer_.Floats(static_cast<size_t>(stride * num_chunks));
  FGNN_RETURN_IF_ERROR(team_->Run(num_chunks, [&](int64_t task, int) {
    const int64_t first = task * chunk;
    float* const sum = partials + task * stride;
    std::fill_n(sum, columns, 0.0F);
    add(first, std::min(chunk, rows - first), sum);
  }));
  SumOfPartials(partials, num_chunks, stride, out);
  return absl::OkStatus();
}

template <typename Number>
absl::Status RowSums<Number>::OfRows(const FactorOf<Number>& a,
                                     absl::Span<float> out) {
  return OverChunks(
      a.rows,
      [&a](int64_t first, int64_t count, float* sum) {
        SumOfRows(a.data + first * a.columns, count, a.columns, sum);
      },
      out);
}

template <typename Number>
absl::StatusOr<float> RowSums<Number>::OfElementProducts(
    const FactorOf<Number>& a, const FactorOf<Number>& b) {
  const auto columns = static_cast<size_t>(a.columns);
  const absl::Span<float> sums =
      absl::MakeSpan(column_sums_buffer_.Floats(columns), columns);
  FGNN_RETURN_IF_ERROR(OverChunks(
      a.rows,
      [&a, &b](int64_t first, int64_t count, float* sum) {
        AddProducts(a.data + first * a.columns, b.data + first * b.columns,
                    count, a.columns, sum);
      },
      sums));
  return std::accumulate(sums.begin(), sums.end(), 0.0F);
}

template class RowSums<float>;
template class RowSums<Bfloat16>;

}  // namespace fgnn
