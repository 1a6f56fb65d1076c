// Adam (Kingma and Ba, ICLR 2015) and AdamW (Loshchilov and Hutter, ICLR 2019)
// as a pure function of one range of weights.
#ifndef FGNN_TRAINER_SERVICE_SYNC_ADAM_H_
#define FGNN_TRAINER_SERVICE_SYNC_ADAM_H_

#include <cstdint>

namespace fgnn {

struct AdamOptions {
  double learning_rate = 0.001;
  double beta1 = 0.9;
  double beta2 = 0.999;
  double epsilon = 1e-8;
  double weight_decay = 0;
  // true (AdamW): learning_rate * weight_decay * weight is subtracted from the
  // weight. false (Adam): weight_decay * weight is added to the gradient.
  bool decoupled_decay = false;
};

// One range of the weights, [count] each. Old and new do not overlap.
struct AdamRange {
  uint64_t count = 0;
  const float* gradient = nullptr;
  const float* old_weights = nullptr;
  const float* old_m = nullptr;
  const float* old_v = nullptr;
  float* new_weights = nullptr;
  float* new_m = nullptr;
  float* new_v = nullptr;
};

// Makes step number `step`, from 1, for one range. Each weight is computed
// alone. So ranges may be cut anywhere, and any thread may compute a range.
void AdamStep(const AdamOptions& options, uint64_t step,
              const AdamRange& range);

}  // namespace fgnn

#endif  // FGNN_TRAINER_SERVICE_SYNC_ADAM_H_
