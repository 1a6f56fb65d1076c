// How a program chooses the exchange of its jobs' gradients.
#ifndef FGNN_TRAINER_SERVICE_SYNC_EXCHANGE_FACTORY_H_
#define FGNN_TRAINER_SERVICE_SYNC_EXCHANGE_FACTORY_H_

#include <functional>
#include <memory>

#include "absl/status/statusor.h"
#include "shared/base/types.h"
#include "shared/config/job_spec.h"
#include "shared/queue/segment.h"
#include "trainer_service/sync/step_exchange.h"

namespace fgnn {

// What an exchange is made for. The segment outlives it.
struct ExchangeOfJob {
  const TrainingSpec& training;
  Segment* segment = nullptr;
  OwnerIndex owner = kNoOwner;  // Owner index of this trainer.
};

// Makes the exchange of a job. Empty: all jobs exchange through the board.
using ExchangeFactory =
    std::function<absl::StatusOr<std::unique_ptr<StepExchange>>(
        const ExchangeOfJob& job)>;

}  // namespace fgnn

#endif  // FGNN_TRAINER_SERVICE_SYNC_EXCHANGE_FACTORY_H_
