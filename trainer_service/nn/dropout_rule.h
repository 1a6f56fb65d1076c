// Which elements dropout drops, on every kind of device.
#ifndef FGNN_TRAINER_SERVICE_NN_DROPOUT_RULE_H_
#define FGNN_TRAINER_SERVICE_NN_DROPOUT_RULE_H_

#include <cstdint>

#include "shared/base/philox.h"
#include "trainer_service/nn/model.h"

namespace fgnn {

// The rule for element e of a flat array: it is dropped if its half of a word
// is below `threshold`, else multiplied by `scale`. Elements come in tiles of
// 128. The halves of word j of Philox(counter = 16 * tile + i, key) belong to
// two elements: the lower half to 128 * tile + 32 * j + 2 * i, the upper half
// to the next.
struct Dropout {
  PhiloxKey key = {0, 0};
  uint32_t threshold = 0;  // Below 2^16.
  float scale = 1;

  // Returns the dropout of `rate`, in [0, 1), rounded to the nearest 2^-16.
  static Dropout Of(double rate, PhiloxKey key);
  bool active() const { return threshold != 0; }
};

// What a batch's dropout is drawn by: its place in its job.
struct DropoutPlace {
  uint64_t seed = 0;  // Seed of the job.
  uint64_t epoch = 0;
  uint64_t batch = 0;
  // Part of the batch. Parts draw apart, since their rows have other numbers.
  uint32_t part = 0;
};

// Returns the dropout of the activations that enter `layer`. Layer 0 takes the
// features; the number of layers stands for the last layer's outputs.
Dropout DropoutInto(const ModelOptions& options, uint32_t layer,
                    const DropoutPlace& place);

// Returns the key of what a layer draws apart from the dropout of its inputs
// and outputs: that of attention.
PhiloxKey OwnKeyOf(uint32_t layer, const DropoutPlace& place);

}  // namespace fgnn

#endif  // FGNN_TRAINER_SERVICE_NN_DROPOUT_RULE_H_
