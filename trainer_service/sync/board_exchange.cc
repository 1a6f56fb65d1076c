#include "trainer_service/sync/board_exchange.h"

#include <optional>
#include <utility>

#include "shared/base/status.h"

namespace fgnn {

StepTensors TensorsOf(const StepLease& lease) {
  StepTensors step;
  step.step_number = lease.new_version();
  step.new_weights = lease.new_weights();
  step.new_optimizer_state = lease.new_optimizer_state();
  if (!lease.is_initial()) {
    step.old_weights = lease.old_weights();
    step.old_optimizer_state = lease.old_optimizer_state();
    step.gradients = lease.gradients();
    step.batch_examples = lease.batch_examples();
    step.parts = lease.num_parts();
  }
  return step;
}

absl::StatusOr<bool> BoardExchange::TryStep(Make make) {
  std::optional<StepLease> lease = board_.TryLease();
  if (!lease.has_value()) return false;
  FGNN_RETURN_IF_ERROR(make(TensorsOf(*lease)));
  FGNN_RETURN_IF_ERROR((*std::move(lease)).Publish());
  return true;
}

}  // namespace fgnn
