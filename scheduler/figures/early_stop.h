// When a job that gets no better stops.
#ifndef FGNN_SCHEDULER_FIGURES_EARLY_STOP_H_
#define FGNN_SCHEDULER_FIGURES_EARLY_STOP_H_

#include <cstdint>
#include <optional>
#include <string>

#include "shared/config/job_spec.h"

namespace fgnn {

// Why the job stops after `epochs_done` epochs, in words for its summary;
// nullopt: it goes on. `best_epoch` (from 0) is the first of those with the
// highest validation accuracy. A pure function of what checkpoints keep, so
// that a job that is resumed stops where it would have.
std::optional<std::string> WhyStopEarly(const TrainingSpec& training,
                                        uint32_t epochs_done,
                                        std::optional<uint32_t> best_epoch);

}  // namespace fgnn

#endif  // FGNN_SCHEDULER_FIGURES_EARLY_STOP_H_
