// The exchange of gradients between the trainers of one host.
#ifndef FGNN_TRAINER_SERVICE_SYNC_BOARD_EXCHANGE_H_
#define FGNN_TRAINER_SERVICE_SYNC_BOARD_EXCHANGE_H_

#include "absl/status/statusor.h"
#include "shared/base/types.h"
#include "shared/queue/gradient_board.h"
#include "shared/queue/segment.h"
#include "trainer_service/sync/step_exchange.h"

namespace fgnn {

// Returns the tensors of a leased step. They borrow from the segment.
StepTensors TensorsOf(const StepLease& lease);

// Exchanges gradients through the gradient board of the job's segment. The
// trainer that has the lease of a step makes the step and publishes the next
// version.
class BoardExchange final : public StepExchange {
 public:
  // Borrows the segment. `owner`: owner index of this trainer.
  BoardExchange(Segment* segment, OwnerIndex owner) : board_(segment, owner) {}

  // Returns the errors of `make` and of StepLease::Publish().
  absl::StatusOr<bool> TryStep(Make make) override;

 private:
  GradientBoard board_;
};

}  // namespace fgnn

#endif  // FGNN_TRAINER_SERVICE_SYNC_BOARD_EXCHANGE_H_
