// The learning rate of a job with schedule "plateau".
#ifndef FGNN_SCHEDULER_FIGURES_PLATEAU_H_
#define FGNN_SCHEDULER_FIGURES_PLATEAU_H_

#include <cstdint>
#include <optional>

#include "shared/config/job_spec.h"

namespace fgnn {

// Lowers the rate to a tenth once training.plateau_epochs epochs have passed
// since the best epoch and since the rate was last lowered. A pure function of
// the added scores; not thread-safe.
class Plateau {
 public:
  explicit Plateau(const TrainingSpec& training)
      : is_asked_for_(training.schedule == "plateau"),
        epochs_(training.plateau_epochs) {}

  // Adds the score of the next epoch that was trained; nullopt: the epoch was
  // not validated.
  void Add(std::optional<double> valid_score);

  // Returns the factor of the learning rate from now on, in (0, 1]; 1 with any
  // other schedule.
  double factor() const { return factor_; }

 private:
  bool is_asked_for_;
  uint64_t epochs_;
  double factor_ = 1;
  std::optional<double> best_;
  uint64_t added_ = 0;
  // Epochs added at the last better epoch or lower rate.
  uint64_t last_change_ = 0;
};

}  // namespace fgnn

#endif  // FGNN_SCHEDULER_FIGURES_PLATEAU_H_
