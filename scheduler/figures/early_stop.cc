#include "scheduler/figures/early_stop.h"

#include "absl/strings/str_cat.h"
#include "shared/measured/score_fields.h"

namespace fgnn {

std::optional<std::string> WhyStopEarly(const TrainingSpec& training,
                                        uint32_t epochs_done,
                                        std::optional<uint32_t> best_epoch) {
  if (training.patience == 0 || training.evaluate_every == 0 ||
      epochs_done >= training.epochs || !best_epoch.has_value()) {
    return std::nullopt;
  }
  // Epochs after the last validation do not count yet.
  const uint32_t validated =
      epochs_done - epochs_done % training.evaluate_every;
  const uint32_t best = *best_epoch + 1;
  if (validated < best || validated - best < training.patience) {
    return std::nullopt;
  }
  const Objective objective = training.objective();
  return absl::StrCat(
      "training.patience is ", training.patience, " and the validation ",
      ComparedField(objective).words, " of epoch ", best, " was not ",
      objective == Objective::kValues ? "undercut" : "surpassed", " in the ",
      validated - best, " epochs after it");
}

}  // namespace fgnn
