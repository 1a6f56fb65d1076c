#include "trainer_service/nn/cpu/row_sums.h"

#include <algorithm>
#include <cstdint>
#include <numeric>

#include "shared/base/status.h"
#include "trainer_service/compute/target_clones.h"
#include "trainer_service/nn/cpu/row_kernels.h"

namespace fgnn {
namespace {

FGNN_TARGET_CLONES
void AddProducts(const float* x, const float* y, int64_t count, float* out) {
  for (int64_t i = 0; i < count; ++i) out[i] += x[i] * y[i];
}

}  // namespace

absl::Status RowSums::OfProducts(const Factor& a, const Factor& b,
                                 absl::Span<float> out) {
  const int64_t chunk = RowsPerPartial(a.rows);
  const int64_t num_chunks = NumTasks(a.rows, chunk);
  const int64_t size = a.columns * b.columns;
  const int64_t stride = NumTasks(size, 16) * 16;  // Whole lines.
  float* partials =
      partials_buffer_.Floats(static_cast<size_t>(stride * num_chunks));
  FGNN_RETURN_IF_ERROR(team_->Run(num_chunks, [&](int64_t task, int worker) {
    const int64_t first = task * chunk;
    const int64_t rows = std::min(chunk, a.rows - first);
    ProductOverRows({a.data + first * a.columns, rows, a.columns},
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

absl::Status RowSums::OverChunks(int64_t rows, AddFromRow add,
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
    for (int64_t r = first; r < std::min(first + chunk, rows); ++r) add(r, sum);
  }));
  SumOfPartials(partials, num_chunks, stride, out);
  return absl::OkStatus();
}

absl::Status RowSums::OfRows(const Factor& a, absl::Span<float> out) {
  return OverChunks(
      a.rows,
      [&a](int64_t row, float* sum) {
        AddRow(a.data + row * a.columns, a.columns, 1, sum);
      },
      out);
}

absl::StatusOr<float> RowSums::OfElementProducts(const Factor& a,
                                                 const Factor& b) {
  const auto columns = static_cast<size_t>(a.columns);
  const absl::Span<float> sums =
      absl::MakeSpan(column_sums_buffer_.Floats(columns), columns);
  FGNN_RETURN_IF_ERROR(OverChunks(
      a.rows,
      [&a, &b](int64_t row, float* sum) {
        AddProducts(a.data + row * a.columns, b.data + row * b.columns,
                    a.columns, sum);
      },
      sums));
  return std::accumulate(sums.begin(), sums.end(), 0.0F);
}

}  // namespace fgnn
