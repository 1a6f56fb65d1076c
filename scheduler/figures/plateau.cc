#include "scheduler/figures/plateau.h"

namespace fgnn {
namespace {

constexpr double kDivisor = 10;

}  // namespace

void Plateau::Add(std::optional<double> valid_score) {
  const uint64_t epoch = added_++;
  if (!is_asked_for_ || !valid_score.has_value()) return;
  if (!best_.has_value() || *valid_score > *best_) {
    best_ = valid_score;
    last_change_ = epoch;
  } else if (epoch - last_change_ >= epochs_) {
    factor_ /= kDivisor;
    last_change_ = epoch;
  }
}

}  // namespace fgnn
