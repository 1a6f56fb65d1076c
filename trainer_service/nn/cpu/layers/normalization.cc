#include "trainer_service/nn/cpu/layers/normalization.h"

#include <algorithm>
#include <cmath>

#include "trainer_service/compute/target_clones.h"

namespace fgnn {
namespace {

// Number of independent sums of a row. Their order is fixed, and vector
// instructions can compute them.
constexpr int64_t kChains = 16;

// Returns the sum of term(c) over the columns.
template <typename Term>
inline __attribute__((always_inline)) float SumOverColumns(int64_t columns,
                                                           const Term& term) {
  float chains[kChains] = {};
  int64_t c = 0;
  for (; c + kChains <= columns; c += kChains) {
    for (int64_t i = 0; i < kChains; ++i) chains[i] += term(c + i);
  }
  for (; c < columns; ++c) chains[c % kChains] += term(c);
  float sum = 0;
  for (const float chain : chains) sum += chain;
  return sum;
}

}  // namespace

FGNN_TARGET_CLONES
void SumOfSquaresAround(const float* mean, const float* z, int64_t rows,
                        int64_t columns, float* out) {
  std::fill_n(out, columns, 0.0F);
  for (int64_t r = 0; r < rows; ++r) {
    for (int64_t c = 0; c < columns; ++c) {
      const float difference = z[r * columns + c] - mean[c];
      out[c] += difference * difference;
    }
  }
}

FGNN_TARGET_CLONES
void NormalizeColumns(const float* mean, const float* inverse_deviation,
                      int64_t rows, int64_t columns, float* z) {
  for (int64_t r = 0; r < rows; ++r) {
    float* const row = z + r * columns;
    for (int64_t c = 0; c < columns; ++c) {
      row[c] = (row[c] - mean[c]) * inverse_deviation[c];
    }
  }
}

FGNN_TARGET_CLONES
void NormalizeRows(int64_t rows, int64_t columns, float* z,
                   float* inverse_deviations) {
  const float share = 1 / static_cast<float>(columns);
  for (int64_t r = 0; r < rows; ++r) {
    float* const row = z + r * columns;
    const float mean =
        share * SumOverColumns(columns, [row](int64_t c) { return row[c]; });
    const float variance =
        share * SumOverColumns(columns, [row, mean](int64_t c) {
          return (row[c] - mean) * (row[c] - mean);
        });
    inverse_deviations[r] = 1 / std::sqrt(variance + kNormEpsilon);
    for (int64_t c = 0; c < columns; ++c) {
      row[c] = (row[c] - mean) * inverse_deviations[r];
    }
  }
}

FGNN_TARGET_CLONES
void ScaleAndShift(const float* scale, const float* shift, const float* n,
                   int64_t rows, int64_t columns, float* y) {
  for (int64_t r = 0; r < rows; ++r) {
    for (int64_t c = 0; c < columns; ++c) {
      y[r * columns + c] = scale[c] * n[r * columns + c] + shift[c];
    }
  }
}

FGNN_TARGET_CLONES
void GradientOfScaleAndShift(const float* dy, const float* n, int64_t rows,
                             int64_t columns, float* d_scale, float* d_shift) {
  std::fill_n(d_scale, columns, 0.0F);
  std::fill_n(d_shift, columns, 0.0F);
  for (int64_t r = 0; r < rows; ++r) {
    for (int64_t c = 0; c < columns; ++c) {
      d_scale[c] += dy[r * columns + c] * n[r * columns + c];
      d_shift[c] += dy[r * columns + c];
    }
  }
}

FGNN_TARGET_CLONES
void GradientOfNormalizeColumns(const ColumnNormGradient& norm, const float* dy,
                                const float* n, int64_t rows, int64_t columns,
                                float* dz) {
  const float share = 1 / static_cast<float>(norm.num_rows);
  for (int64_t r = 0; r < rows; ++r) {
    for (int64_t c = 0; c < columns; ++c) {
      const int64_t i = r * columns + c;
      dz[i] = norm.scale[c] * norm.inverse_deviation[c] *
              (dy[i] - share * (norm.d_shift[c] + n[i] * norm.d_scale[c]));
    }
  }
}

FGNN_TARGET_CLONES
void GradientOfNormalizeRows(const float* scale,
                             const float* inverse_deviations, const float* dy,
                             const float* n, int64_t rows, int64_t columns,
                             float* dz) {
  const float share = 1 / static_cast<float>(columns);
  for (int64_t r = 0; r < rows; ++r) {
    const float* const dy_row = dy + r * columns;
    const float* const n_row = n + r * columns;
    const float mean =
        share * SumOverColumns(columns, [scale, dy_row](int64_t c) {
          return scale[c] * dy_row[c];
        });
    const float slope =
        share * SumOverColumns(columns, [scale, dy_row, n_row](int64_t c) {
          return scale[c] * dy_row[c] * n_row[c];
        });
    for (int64_t c = 0; c < columns; ++c) {
      dz[r * columns + c] = inverse_deviations[r] *
                            (scale[c] * dy_row[c] - mean - n_row[c] * slope);
    }
  }
}

}  // namespace fgnn
