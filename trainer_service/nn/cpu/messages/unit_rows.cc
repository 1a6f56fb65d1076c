#include "trainer_service/nn/cpu/messages/unit_rows.h"

#include <cfloat>
#include <cmath>

#include "trainer_service/compute/target_clones.h"

namespace fgnn {
namespace {

// Computed in f64, in which squares of floats neither overflow nor vanish. By
// lanes in a fixed order, which the compiler may compute at once.
template <typename Number>
inline __attribute__((always_inline)) double DotProduct(const Number* x,
                                                        const Number* y,
                                                        int64_t columns) {
  constexpr int64_t kLanes = 16;
  double lanes[kLanes] = {};
  int64_t c = 0;
  for (; c + kLanes <= columns; c += kLanes) {
    for (int64_t i = 0; i < kLanes; ++i) {
      lanes[i] += static_cast<double>(Widen(x[c + i])) *
                  static_cast<double>(Widen(y[c + i]));
    }
  }
  double sum = 0;
  for (; c < columns; ++c) {
    sum += static_cast<double>(Widen(x[c])) * static_cast<double>(Widen(y[c]));
  }
  for (const double lane : lanes) sum += lane;
  return sum;
}

template <typename Number>
inline __attribute__((always_inline)) void GradientOfLength(
    const Number* unit, const float* inverse_lengths, const Number* gradient,
    int64_t rows, int64_t columns, float* out) {
  for (int64_t r = 0; r < rows; ++r) {
    const Number* const u = unit + r * columns;
    const Number* const g = gradient + r * columns;
    float* const to = out + r * columns;
    const auto along = static_cast<float>(DotProduct(u, g, columns));
    for (int64_t c = 0; c < columns; ++c) {
      to[c] = (Widen(g[c]) - along * Widen(u[c])) * inverse_lengths[r];
    }
  }
}

}  // namespace

FGNN_TARGET_CLONES
void ScaleToUnitLength(int64_t rows, int64_t columns, float* x,
                       float* inverse_lengths) {
  for (int64_t r = 0; r < rows; ++r) {
    float* const row = x + r * columns;
    const double length = std::sqrt(DotProduct(row, row, columns));
    // Written so that NaN stays: a run that diverges is noticed by it.
    const auto inverse =
        static_cast<float>(length < double{FLT_MIN} ? 0.0 : 1.0 / length);
    for (int64_t c = 0; c < columns; ++c) row[c] *= inverse;
    inverse_lengths[r] = inverse;
  }
}

FGNN_TARGET_CLONES
void GradientOfUnitLength(const float* unit, const float* inverse_lengths,
                          const float* gradient, int64_t rows, int64_t columns,
                          float* out) {
  GradientOfLength(unit, inverse_lengths, gradient, rows, columns, out);
}

FGNN_TARGET_CLONES
void GradientOfUnitLength(const Bfloat16* unit, const float* inverse_lengths,
                          const Bfloat16* gradient, int64_t rows,
                          int64_t columns, float* out) {
  GradientOfLength(unit, inverse_lengths, gradient, rows, columns, out);
}

}  // namespace fgnn
