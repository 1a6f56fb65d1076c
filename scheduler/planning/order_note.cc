#include "scheduler/planning/order_note.h"

#include "absl/strings/str_cat.h"
#include "scheduler/planning/memory_plan.h"

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
  if (!ReadsFromDisk(input)) {
    return "sampling.order is matched, but the features are in memory, where "
           "trainers read each row as it lies: the order saves nothing, and "
           "samplers sample twice. Set sampling.order to drawn";
  }
  return std::nullopt;
}

}  // namespace fgnn
