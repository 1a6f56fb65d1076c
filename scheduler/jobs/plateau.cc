#include "scheduler/jobs/plateau.h"

#include <cstddef>

namespace fgnn {
namespace {

constexpr double kDivisor = 10;

}  // namespace

double PlateauFactor(const TrainingSpec& training,
                     absl::Span<const std::optional<double>> valid_accuracies) {
  if (training.schedule != "plateau") return 1;
  double factor = 1;
  std::optional<double> best;
  size_t last_change = 0;  // A better epoch, or a lower rate.
  for (size_t epoch = 0; epoch < valid_accuracies.size(); ++epoch) {
    const std::optional<double>& accuracy = valid_accuracies[epoch];
    if (!accuracy.has_value()) continue;
    if (!best.has_value() || *accuracy > *best) {
      best = accuracy;
      last_change = epoch;
    } else if (epoch - last_change >= training.plateau_epochs) {
      factor /= kDivisor;
      last_change = epoch;
    }
  }
  return factor;
}

}  // namespace fgnn
