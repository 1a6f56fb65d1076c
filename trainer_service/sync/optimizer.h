// How a job makes its optimizer steps.
#ifndef FGNN_TRAINER_SERVICE_SYNC_OPTIMIZER_H_
#define FGNN_TRAINER_SERVICE_SYNC_OPTIMIZER_H_

#include <cstdint>

#include "shared/config/job_spec.h"

namespace fgnn {

enum class OptimizerKind : uint8_t { kAdam, kAdamW, kSgd };
enum class RateSchedule : uint8_t { kConstant, kCosine };

struct OptimizerOptions {
  OptimizerKind kind = OptimizerKind::kAdam;
  double learning_rate = 0.001;  // The highest.
  RateSchedule schedule = RateSchedule::kConstant;
  uint64_t warmup_steps = 0;
  uint64_t num_steps = 0;  // Of the job.
  // Of the parameters that are marked for it.
  double weight_decay = 0;
  // The most that the Euclidean norm of a step's gradient, over all weights,
  // may be (Pascanu et al., ICML 2013, section 3.2). 0: no limit.
  double clip_norm = 0;
  double momentum = 0;  // Of kSgd; [0, 1).
};

// All but num_steps.
OptimizerOptions OptimizerOf(const TrainingSpec& spec);

// The learning rate of step `step`, from 1. With w steps of warm-up, step
// t <= w has t / (w + 1) of the highest one. Those behind them have all of it,
// or with kCosine (1 + cos(pi * (t - 1 - w) / (num_steps - w))) / 2 of it
// (Loshchilov and Hutter, ICLR 2017, section 3, without restarts).
double LearningRateAt(const OptimizerOptions& options, uint64_t step);

// Floats of state that the optimizer keeps of each weight: arrays of [P], one
// behind the other. Adam, AdamW: m, then v; SGD: the momentum, if it has any.
uint32_t StateFloatsPerParameter(const OptimizerOptions& options);

}  // namespace fgnn

#endif  // FGNN_TRAINER_SERVICE_SYNC_OPTIMIZER_H_
