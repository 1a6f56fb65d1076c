// Dropout from the counter-based generator: every trainer that computes a batch
// drops the same elements.
#ifndef FGNN_TRAINER_SERVICE_NN_CPU_KERNELS_DROPOUT_H_
#define FGNN_TRAINER_SERVICE_NN_CPU_KERNELS_DROPOUT_H_

#include <cstdint>

#include "absl/types/span.h"
#include "shared/base/philox.h"
#include "trainer_service/compute/scratch.h"
#include "trainer_service/compute/widen.h"
#include "trainer_service/nn/dropout_rule.h"

namespace fgnn {

// Elements that share one call of the vectorised generator.
inline constexpr int64_t kDropoutTile = 128;

// Applies dropout to `values`, the elements from `first` on; `first` is a
// multiple of kDropoutTile. Several threads may work on parts of one array.
void ApplyDropout(const Dropout& dropout, int64_t first, int64_t count,
                  float* values);

// Replaces each value by max(values[i], 0), then applies dropout.
void ApplyReluAndDropout(const Dropout& dropout, int64_t first, int64_t count,
                         float* values);

// A row that is added to every row of a matrix, wherever a tile of it begins.
class RepeatedRow {
 public:
  // Copies `row`, which has at least one number. std::bad_alloc.
  void Assign(absl::Span<const float> row);

  // [columns + kDropoutTile]: the last number is followed by the first ones
  // again.
  const float* floats() const { return floats_.data(); }
  int64_t columns() const { return columns_; }

 private:
  Scratch<float> floats_;
  int64_t columns_ = 0;
};

// Sets to[i] = max(z[i] + row[(first + i) % columns], 0), then applies dropout
// and rounds to the type of `to`. The matrix has the row's columns. z begins at
// element `first`, which begins a row and is a multiple of kDropoutTile. `to`
// may be z.
void AddRowReluAndDropout(const Dropout& dropout, const RepeatedRow& row,
                          int64_t first, int64_t count, const float* z,
                          float* to);
void AddRowReluAndDropout(const Dropout& dropout, const RepeatedRow& row,
                          int64_t first, int64_t count, const float* z,
                          Bfloat16* to);

// Sets gradient[i] *= scale where activations[i], a result of
// ApplyReluAndDropout, is above 0; else gradient[i] = 0.
void GradientOfReluAndDropout(float scale, const float* activations,
                              int64_t count, float* gradient);
void GradientOfReluAndDropout(float scale, const Bfloat16* activations,
                              int64_t count, float* gradient);

}  // namespace fgnn

#endif  // FGNN_TRAINER_SERVICE_NN_CPU_KERNELS_DROPOUT_H_
