// Whether what a step made is finite. For the files of this folder.
#ifndef FGNN_TRAINER_SERVICE_SYNC_FINITE_STEP_H_
#define FGNN_TRAINER_SERVICE_SYNC_FINITE_STEP_H_

#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "trainer_service/nn/model.h"
#include "trainer_service/sync/optimizer.h"
#include "trainer_service/sync/step_exchange.h"

namespace fgnn {

// Returns whether the new weights [offset, offset + count) and their
// optimizer's state are finite. They are not if their gradient is not.
bool IsFinite(const StepTensors& step, uint64_t offset, uint64_t count);

// Returns Aborted, which names the first number from `offset` on that is not
// finite. `gradient`: that of the weights from `offset` on. OK: all are finite.
absl::Status CheckFinite(const std::vector<ParameterInfo>& parameters,
                         const OptimizerOptions& options,
                         const StepTensors& step, uint64_t offset,
                         absl::Span<const float> gradient);

}  // namespace fgnn

#endif  // FGNN_TRAINER_SERVICE_SYNC_FINITE_STEP_H_
