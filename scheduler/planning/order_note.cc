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
  const MatchChoice match = ChooseMatch(input.spec, LoadsRows(input));
  const bool reads_in_place = match.matches && input.training.match_bytes == 0;
  if (!match.matches || reads_in_place) {
    return absl::StrCat(
        "sampling.order is matched, but trainers copy no row of the batch "
        "before (features.match): ",
        reads_in_place ? "the model reads them where they lie" : match.reason,
        ". The order saves nothing, and samplers sample twice. Set "
        "sampling.order to drawn");
  }
  // Devices that take turns have as many trainers as the plan says, later.
  const uint32_t trainers = input.spec.num_trainers();
  if (!input.spec.takes_turns() && trainers != chains) {
    return absl::StrCat(
        "sampling.order is matched for ", chains,
        " trainers (training.batches_per_step), and ", trainers,
        " will work: a trainer's batch before is another one than the order "
        "goes by, so that more rows may be loaded than in drawn order. Set "
        "training.batches_per_step to ",
        trainers, ", or sampling.order to drawn");
  }
  return std::nullopt;
}

}  // namespace fgnn
