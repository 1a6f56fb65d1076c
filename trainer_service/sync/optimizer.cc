#include "trainer_service/sync/optimizer.h"

#include <cmath>
#include <numbers>

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
          .schedule = spec.schedule == "cosine" ? RateSchedule::kCosine
                                                : RateSchedule::kConstant,
          .warmup_steps = spec.warmup_steps,
          .weight_decay = spec.weight_decay,
          .clip_norm = spec.clip_norm,
          .momentum = spec.momentum};
}

double LearningRateAt(const OptimizerOptions& options, uint64_t step) {
  const auto number = [](uint64_t count) { return static_cast<double>(count); };
  const uint64_t warmup = options.warmup_steps;
  if (step <= warmup) {
    return options.learning_rate * number(step) / number(warmup + 1);
  }
  if (options.schedule == RateSchedule::kConstant) return options.learning_rate;
  const double done =
      number(step - 1 - warmup) / number(options.num_steps - warmup);
  return options.learning_rate * (1 + std::cos(std::numbers::pi * done)) / 2;
}

uint32_t StateFloatsPerParameter(const OptimizerOptions& options) {
  if (options.kind != OptimizerKind::kSgd) return 2;
  return options.momentum > 0 ? 1 : 0;
}

}  // namespace fgnn
