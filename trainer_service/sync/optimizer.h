// How a job makes its optimizer steps.
#ifndef FGNN_TRAINER_SERVICE_SYNC_OPTIMIZER_H_
#define FGNN_TRAINER_SERVICE_SYNC_OPTIMIZER_H_

#include <cstdint>

#include "shared/config/job_spec.h"

namespace fgnn {

enum class OptimizerKind : uint8_t { kAdam, kAdamW, kSgd };

struct OptimizerOptions {
  OptimizerKind kind = OptimizerKind::kAdam;
  double learning_rate = 0.001;
  // Of the parameters that are marked for it.
  double weight_decay = 0;
  double momentum = 0;  // Of kSgd; [0, 1).
};

OptimizerOptions OptimizerOf(const TrainingSpec& spec);

// Floats of state that the optimizer keeps of each weight: arrays of [P], one
// behind the other. Adam, AdamW: m, then v; SGD: the momentum, if it has any.
uint32_t StateFloatsPerParameter(const OptimizerOptions& options);

}  // namespace fgnn

#endif  // FGNN_TRAINER_SERVICE_SYNC_OPTIMIZER_H_
