// Dropout from the counter-based generator: the same elements are dropped
// whoever computes a batch.
#ifndef FGNN_TRAINER_SERVICE_NN_CPU_KERNELS_DROPOUT_H_
#define FGNN_TRAINER_SERVICE_NN_CPU_KERNELS_DROPOUT_H_

#include <cstdint>

#include "absl/types/span.h"
#include "shared/base/philox.h"
#include "trainer_service/compute/aligned_buffer.h"
#include "trainer_service/compute/widen.h"

namespace fgnn {

// Elements that share one evaluation of the vectorised generator.
inline constexpr int64_t kDropoutTile = 128;

// What happens to element e of a flat array: it is dropped if its half of a
// word is below `threshold`, else multiplied by `scale`. Elements come in tiles
// of 128; of word j of Philox(counter = 16 * tile + i, key) the lower half is
// for element 128 * tile + 32 * j + 2 * i, the upper half for the next.
struct Dropout {
  PhiloxKey key = {0, 0};
  uint32_t threshold = 0;  // Below 2^16.
  float scale = 1;

  // rate in [0, 1), to the nearest 2^-16.
  static Dropout Of(double rate, PhiloxKey key);
  bool active() const { return threshold != 0; }
};

// values[i], the elements from `first` on, which is a multiple of
// kDropoutTile. Several threads may work on parts of one array.
void ApplyDropout(const Dropout& dropout, int64_t first, int64_t count,
                  float* values);

// max(values[i], 0), then dropout.
void ApplyReluAndDropout(const Dropout& dropout, int64_t first, int64_t count,
                         float* values);

// What every row of a matrix gets added, wherever a tile of it begins.
class RepeatedRow {
 public:
  // A copy, of at least one number. std::bad_alloc.
  void Assign(absl::Span<const float> row);

  // [columns + kDropoutTile]: behind the last come the first ones again.
  const float* floats() const { return floats_; }
  int64_t columns() const { return columns_; }

 private:
  AlignedBuffer buffer_;
  float* floats_ = nullptr;
  int64_t columns_ = 0;
};

// to[i] = max(z[i] + row[(first + i) % columns], 0), then dropout, rounded to
// what `to` holds; a matrix of the row's columns, from a row on whose first
// element `first` is a multiple of kDropoutTile. `to` may be z.
void AddRowReluAndDropout(const Dropout& dropout, const RepeatedRow& row,
                          int64_t first, int64_t count, const float* z,
                          float* to);
void AddRowReluAndDropout(const Dropout& dropout, const RepeatedRow& row,
                          int64_t first, int64_t count, const float* z,
                          Bfloat16* to);

// gradient[i] *= scale where activations[i], which ApplyReluAndDropout left,
// is above 0; else 0.
void GradientOfReluAndDropout(float scale, const float* activations,
                              int64_t count, float* gradient);
void GradientOfReluAndDropout(float scale, const Bfloat16* activations,
                              int64_t count, float* gradient);

}  // namespace fgnn

#endif  // FGNN_TRAINER_SERVICE_NN_CPU_KERNELS_DROPOUT_H_
