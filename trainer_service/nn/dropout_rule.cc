#include "trainer_service/nn/dropout_rule.h"

#include <algorithm>
#include <cmath>

#include "shared/minibatch/task.h"

namespace fgnn {
namespace {

// Hops of a part: more than layers have inputs, outputs and keys of their own.
constexpr uint32_t kHopsOfPart = 32;
static_assert(2 * kMaxHops + 1 < kHopsOfPart);

PhiloxKey KeyOf(uint32_t hop, const DropoutPlace& place) {
  return MakePhiloxKey(place.seed, place.epoch, place.batch,
                       place.part * kHopsOfPart + hop, Purpose::kDropout);
}

}  // namespace

Dropout Dropout::Of(double rate, PhiloxKey key) {
  Dropout dropout;
  if (!(rate > 0)) return dropout;
  dropout.key = key;
  const double threshold =
      std::clamp(std::round(rate * 0x1.0p16), 1.0, 0x1.0p16 - 1);
  dropout.threshold = static_cast<uint32_t>(threshold);
  dropout.scale = static_cast<float>(0x1.0p16 / (0x1.0p16 - threshold));
  return dropout;
}

Dropout DropoutInto(const ModelOptions& options, uint32_t layer,
                    const DropoutPlace& place) {
  return Dropout::Of(layer == 0 ? options.input_dropout : options.dropout,
                     KeyOf(layer, place));
}

// Its hop lies beyond those of the layers' inputs and outputs.
PhiloxKey OwnKeyOf(uint32_t layer, const DropoutPlace& place) {
  return KeyOf(uint32_t{kMaxHops} + 1 + layer, place);
}

}  // namespace fgnn
