// Pre-sampling (FGNN, section 6.3): batches are made only to count which
// vertices' features they need.
#ifndef FGNN_SAMPLER_SERVICE_PRESAMPLE_INPUT_NODE_COUNTS_H_
#define FGNN_SAMPLER_SERVICE_PRESAMPLE_INPUT_NODE_COUNTS_H_

#include <cstdint>
#include <functional>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "sampler_service/sampling/sampler.h"
#include "shared/minibatch/batches_per_epoch.h"

namespace fgnn {

struct CountOptions {
  BatchRange batches;
  // Number of threads that share the batches. Each takes 4 bytes per vertex
  // beside its sampler and its task.
  uint32_t num_threads = 1;
  SamplerFactory factory;
  // Called between batches, by several threads. An error ends the count. May be
  // empty.
  std::function<absl::Status()> check;
};

// Returns, for each vertex [N], how many of these batches have it among their
// input nodes. The counts are exact: they are the same for any number of
// threads. The counts of a range's parts add up to its own, wherever they were
// made. InvalidArgument: an error of Validate(), or the range ends before it
// begins. ResourceExhausted: a batch would not fit into this machine's memory.
// Other errors: those of the factory, the samplers and `check`.
absl::StatusOr<std::vector<uint32_t>> CountInputNodes(
    const SamplerInput& input, const SamplerOptions& sampling,
    const CountOptions& options);

}  // namespace fgnn

#endif  // FGNN_SAMPLER_SERVICE_PRESAMPLE_INPUT_NODE_COUNTS_H_
