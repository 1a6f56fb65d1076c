#include "scheduler/planning/order_note.h"

#include "absl/strings/str_cat.h"
#include "scheduler/planning/memory_plan.h"
#include "shared/config/rules/match_rules.h"

namespace fgnn {

std::optional<std::string> NoteOnOrder(const PlanInput& input) {
  const SamplingSpec& sampling = input.spec.sampling;
  if (sampling.order != "matched") return std::nullopt;
  const uint32_t chains = input.spec.training.batches_per_step;
  if (sampling.window <= chains) {
    return absl::StrCat(
        "sampling.order is matched, but a window of ", sampling.window,
        " batches (sampling.window) is no more than a step of ", chains,
        " (training.batches_per_step): the order stays the drawn one. Raise "
        "sampling.window above ",
        chains);
  }
  const MatchChoice match = ChooseMatch(input.spec, ReadsFromDisk(input));
  if (!match.matches) {
    return absl::StrCat(
        "sampling.order is matched, but trainers copy no row of the batch "
        "before (features.match): ",
        match.reason,
        ". The order saves nothing, and samplers sample twice. Set "
        "sampling.order to drawn");
  }
  return std::nullopt;
}

}  // namespace fgnn
