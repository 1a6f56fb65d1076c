// Dropout from the counter-based generator: the same elements are dropped
// whoever computes a batch.
#ifndef FGNN_TRAINER_SERVICE_NN_CPU_DROPOUT_H_
#define FGNN_TRAINER_SERVICE_NN_CPU_DROPOUT_H_

#include <cstdint>

#include "shared/base/philox.h"
#include "trainer_service/compute/widen.h"

namespace fgnn {

// Elements that share one evaluation of the vectorised generator.
inline constexpr int64_t kDropoutTile = 64;

// What happens to element e of a flat array: it is dropped if its word is
// below `threshold`, else multiplied by `scale`. Elements come in tiles of 64;
// word j of Philox(counter = 16 * tile + i, key) is for element
// 64 * tile + 16 * j + i.
struct Dropout {
  PhiloxKey key = {0, 0};
  uint32_t threshold = 0;
  float scale = 1;

  // rate in [0, 1).
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

// gradient[i] *= scale where activations[i], which ApplyReluAndDropout left,
// is above 0; else 0.
void GradientOfReluAndDropout(float scale, const float* activations,
                              int64_t count, float* gradient);
void GradientOfReluAndDropout(float scale, const Bfloat16* activations,
                              int64_t count, float* gradient);

}  // namespace fgnn

#endif  // FGNN_TRAINER_SERVICE_NN_CPU_DROPOUT_H_
