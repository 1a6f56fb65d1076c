// A step of a job's optimizer from made-up numbers. Its bits tell whether two
// processors make the same steps: one without FMA makes others.
#ifndef FGNN_TRAINER_SERVICE_SYNC_MADE_UP_STEP_H_
#define FGNN_TRAINER_SERVICE_SYNC_MADE_UP_STEP_H_

#include <cstdint>

#include "absl/status/statusor.h"
#include "trainer_service/sync/optimizer.h"

namespace fgnn {

// Returns the CRC32C of weights and optimizer state after two steps of some
// thousand weights, with the options' rate, decay and limit of the norm. The
// same options give the same number wherever the arithmetic is the same. Takes
// less than a millisecond. Internal: the step is not finite.
absl::StatusOr<uint32_t> CrcOfMadeUpStep(OptimizerOptions options);

}  // namespace fgnn

#endif  // FGNN_TRAINER_SERVICE_SYNC_MADE_UP_STEP_H_
