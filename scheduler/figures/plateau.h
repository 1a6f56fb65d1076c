// The learning rate of a job with schedule "plateau".
#ifndef FGNN_SCHEDULER_FIGURES_PLATEAU_H_
#define FGNN_SCHEDULER_FIGURES_PLATEAU_H_

#include <cstdint>
#include <optional>

#include "shared/config/job_spec.h"

namespace fgnn {

// The rate is lowered to a tenth once training.plateau_epochs epochs have
// passed since the best one and since the rate was lowered before. A pure
// function of what was added; not thread-safe.
class Plateau {
 public:
  explicit Plateau(const TrainingSpec& training)
      : is_asked_for_(training.schedule == "plateau"),
        epochs_(training.plateau_epochs) {}

  // Adds the score of the next epoch that was trained; nullopt: the epoch was
  // not validated.
  void Add(std::optional<double> valid_accuracy);

  // Factor of the learning rate from now on, in (0, 1]; 1 with any other
  // schedule.
  double factor() const { return factor_; }

 private:
  bool is_asked_for_;
  uint64_t epochs_;
  double factor_ = 1;
  std::optional<double> best_;
  uint64_t added_ = 0;
  uint64_t last_change_ = 0;  // A better epoch, or a lower rate.
};

}  // namespace fgnn

#endif  // FGNN_SCHEDULER_FIGURES_PLATEAU_H_
