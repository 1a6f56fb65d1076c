// Normalisation of rows of activations on one thread, forwards and backwards:
// every column over many rows (Ioffe and Szegedy, "Batch Normalization",
// algorithm 1), or every row over its columns (Ba et al., "Layer
// Normalization", section 3). Rows lie side by side; all numbers are f32.
//
//   n = (z - mean) / sqrt(variance + kNormEpsilon);  y = scale * n + shift
#ifndef FGNN_TRAINER_SERVICE_NN_CPU_LAYERS_NORMALIZATION_H_
#define FGNN_TRAINER_SERVICE_NN_CPU_LAYERS_NORMALIZATION_H_

#include <cstdint>

#include "trainer_service/nn/norm_epsilon.h"

namespace fgnn {

// Sets out [columns] to the sum of (z - mean)^2 over the rows.
void SumOfSquaresAround(const float* mean, const float* z, int64_t rows,
                        int64_t columns, float* out);

// Replaces z by n; mean, inverse_deviation [columns].
void NormalizeColumns(const float* mean, const float* inverse_deviation,
                      int64_t rows, int64_t columns, float* z);

// Replaces z by n; writes inverse_deviations [rows].
void NormalizeRows(int64_t rows, int64_t columns, float* z,
                   float* inverse_deviations);

// Computes y = scale * n + shift; scale, shift [columns].
void ScaleAndShift(const float* scale, const float* shift, const float* n,
                   int64_t rows, int64_t columns, float* y);

// Sets d_scale, d_shift [columns] to the sums of dy * n and of dy over the
// rows.
void GradientOfScaleAndShift(const float* dy, const float* n, int64_t rows,
                             int64_t columns, float* d_scale, float* d_shift);

// Computes dz of NormalizeColumns() over `num_rows` rows, of which these are
// some. The sums of GradientOfScaleAndShift() are over all of them. dz may be
// n.
struct ColumnNormGradient {
  const float* scale = nullptr;  // [columns] each.
  const float* inverse_deviation = nullptr;
  const float* d_scale = nullptr;
  const float* d_shift = nullptr;
  int64_t num_rows = 0;
};
void GradientOfNormalizeColumns(const ColumnNormGradient& norm, const float* dy,
                                const float* n, int64_t rows, int64_t columns,
                                float* dz);

// Computes dz of NormalizeRows(). dz may be n.
void GradientOfNormalizeRows(const float* scale,
                             const float* inverse_deviations, const float* dy,
                             const float* n, int64_t rows, int64_t columns,
                             float* dz);

}  // namespace fgnn

#endif  // FGNN_TRAINER_SERVICE_NN_CPU_LAYERS_NORMALIZATION_H_
