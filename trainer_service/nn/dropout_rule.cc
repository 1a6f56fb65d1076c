#include "trainer_service/nn/dropout_rule.h"

#include <algorithm>
#include <cmath>

#include "shared/minibatch/task.h"

namespace fgnn {

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
                     MakePhiloxKey(place.seed, place.epoch, place.batch, layer,
                                   Purpose::kDropout));
}

// Its hop lies beyond those of the layers' inputs and outputs.
PhiloxKey OwnKeyOf(uint32_t layer, const DropoutPlace& place) {
  return MakePhiloxKey(place.seed, place.epoch, place.batch,
                       uint32_t{kMaxHops} + 1 + layer, Purpose::kDropout);
}

}  // namespace fgnn
