// Whether numbers are finite.
#ifndef FGNN_TRAINER_SERVICE_COMPUTE_FINITE_H_
#define FGNN_TRAINER_SERVICE_COMPUTE_FINITE_H_

#include "absl/types/span.h"

namespace fgnn {

// Returns false if one of the numbers is infinite or NaN. Reads as fast as the
// processor's vectors do.
bool AllFinite(absl::Span<const float> values);

}  // namespace fgnn

#endif  // FGNN_TRAINER_SERVICE_COMPUTE_FINITE_H_
