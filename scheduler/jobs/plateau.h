// The learning rate of a job with schedule "plateau".
#ifndef FGNN_SCHEDULER_JOBS_PLATEAU_H_
#define FGNN_SCHEDULER_JOBS_PLATEAU_H_

#include <optional>

#include "absl/types/span.h"
#include "shared/config/job_spec.h"

namespace fgnn {

// What the learning rate is multiplied by from now on, in (0, 1].
// valid_accuracies: of each epoch that was trained, in their order; nullopt:
// it was not validated. The rate is lowered to a tenth once
// training.plateau_epochs epochs have passed since the best one and since it
// was lowered before. 1 with any other schedule.
double PlateauFactor(const TrainingSpec& training,
                     absl::Span<const std::optional<double>> valid_accuracies);

}  // namespace fgnn

#endif  // FGNN_SCHEDULER_JOBS_PLATEAU_H_
