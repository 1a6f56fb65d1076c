#include "trainer_service/sync/optimizer.h"

namespace fgnn {
namespace {

OptimizerKind KindOf(const TrainingSpec& spec) {
  if (spec.optimizer == "adamw") return OptimizerKind::kAdamW;
  if (spec.optimizer == "sgd") return OptimizerKind::kSgd;
  return OptimizerKind::kAdam;
}

}  // namespace

OptimizerOptions OptimizerOf(const TrainingSpec& spec) {
  return {.kind = KindOf(spec),
          .learning_rate = spec.learning_rate,
          .weight_decay = spec.weight_decay,
          .momentum = spec.momentum};
}

uint32_t StateFloatsPerParameter(const OptimizerOptions& options) {
  if (options.kind != OptimizerKind::kSgd) return 2;
  return options.momentum > 0 ? 1 : 0;
}

}  // namespace fgnn
