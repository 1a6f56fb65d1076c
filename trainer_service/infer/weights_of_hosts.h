// The weights of an inference that several hosts make together: the first host
// gives them to the others, which may be about to make the last step, or have
// no checkpoint.
#ifndef FGNN_TRAINER_SERVICE_INFER_WEIGHTS_OF_HOSTS_H_
#define FGNN_TRAINER_SERVICE_INFER_WEIGHTS_OF_HOSTS_H_

#include <cstdint>
#include <functional>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "trainer_service/infer/shared_inference.h"

namespace fgnn {

// Returns whether this host gets the weights from another one. `shared` may be
// null.
bool GetsWeights(const SharedInference* shared);

// Gives the weights to the other hosts. Does nothing if there are none.
// `shared` may be null. `num_layers`: number of layers that are inferred.
absl::Status GiveWeights(SharedInference* shared, uint32_t num_layers,
                         absl::Span<const float> weights);

// Waits for the weights, of which there are `count`, and returns them. They are
// borrowed from `shared`. Errors: those of `check`, which is called at least
// ten times a second.
absl::StatusOr<absl::Span<const float>> GetWeights(
    SharedInference* shared, uint32_t num_layers, uint64_t count,
    const std::function<absl::Status()>& check);

}  // namespace fgnn

#endif  // FGNN_TRAINER_SERVICE_INFER_WEIGHTS_OF_HOSTS_H_
