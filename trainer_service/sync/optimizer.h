// The options of a job's optimizer steps.
#ifndef FGNN_TRAINER_SERVICE_SYNC_OPTIMIZER_H_
#define FGNN_TRAINER_SERVICE_SYNC_OPTIMIZER_H_

#include <cstdint>

#include "shared/config/job_spec.h"

namespace fgnn {

enum class OptimizerKind : uint8_t { kAdam, kAdamW, kSgd };
enum class RateSchedule : uint8_t { kConstant, kCosine };

struct OptimizerOptions {
  OptimizerKind kind = OptimizerKind::kAdam;
  double learning_rate = 0.001;  // Highest rate of the schedule.
  RateSchedule schedule = RateSchedule::kConstant;
  uint64_t warmup_steps = 0;
  uint64_t num_steps = 0;  // Number of steps of the job.
  // Weight decay of the parameters that are marked for it.
  double weight_decay = 0;
  // Greatest Euclidean norm of a step's gradient, over all weights (Pascanu et
  // al., ICML 2013, section 3.2). 0: no limit.
  double clip_norm = 0;
  double momentum = 0;  // Momentum of kSgd, [0, 1).
};

// Returns the options of a job, without num_steps.
OptimizerOptions OptimizerOf(const TrainingSpec& spec);

// Returns the learning rate of step t = `step`, from 1. With w steps of
// warm-up, a step t <= w has t / (w + 1) of the highest rate. Later steps have
// the highest rate. With kCosine they have this share of it:
//   (1 + cos(pi * (t - 1 - w) / (num_steps - w))) / 2
// (Loshchilov and Hutter, ICLR 2017, section 3, without restarts).
double LearningRateAt(const OptimizerOptions& options, uint64_t step);

// Returns the number of floats of state that the optimizer keeps for each
// weight. The state is that many arrays of [P], one after the other. Adam,
// AdamW: m, then v. SGD: the direction, if there is momentum.
uint32_t StateFloatsPerParameter(const OptimizerOptions& options);

}  // namespace fgnn

#endif  // FGNN_TRAINER_SERVICE_SYNC_OPTIMIZER_H_
