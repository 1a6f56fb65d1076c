// When a job stops early because its score does not rise.
#ifndef FGNN_SCHEDULER_FIGURES_EARLY_STOP_H_
#define FGNN_SCHEDULER_FIGURES_EARLY_STOP_H_

#include <cstdint>
#include <optional>
#include <string>

#include "shared/config/job_spec.h"

namespace fgnn {

// Returns why the job stops after `epochs_done` epochs, in words for its
// summary; nullopt: it goes on. `best_epoch` (from 0) is the first epoch with
// the highest validation score. A pure function of values in checkpoints, so
// that a resumed job stops at the same epoch.
std::optional<std::string> WhyStopEarly(const TrainingSpec& training,
                                        uint32_t epochs_done,
                                        std::optional<uint32_t> best_epoch);

}  // namespace fgnn

#endif  // FGNN_SCHEDULER_FIGURES_EARLY_STOP_H_
