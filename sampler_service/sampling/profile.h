// What a job's batches are like, found out by making some of them.
#ifndef FGNN_SAMPLER_SERVICE_SAMPLING_PROFILE_H_
#define FGNN_SAMPLER_SERVICE_SAMPLING_PROFILE_H_

#include <cstdint>
#include <functional>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "sampler_service/sampling/sampler.h"
#include "shared/minibatch/hop_size.h"

namespace fgnn {

struct SamplingMeasurement {
  uint64_t max_task_bytes = 0;    // Of the batches that were made.
  uint64_t bound_task_bytes = 0;  // That no batch of the job can exceed.
  uint64_t max_input_nodes = 0;
  uint64_t max_edges = 0;
  // Ts: seconds between two batches of a sampler with all its threads. The
  // first batch of a thread, which meets cold memory, counts only where there
  // is no other.
  double seconds_per_batch = 0;
  // Anonymous memory, resident: what the samplers of all threads have taken or
  // will once they have met most vertices, and what the process held before,
  // with the job's graph open.
  uint64_t workspace_bytes = 0;
  uint64_t program_bytes = 0;
  // First hop first: the most destinations, sources and edges of any batch.
  std::vector<HopSize> hops;
  uint32_t num_threads = 0;
};

struct ProfileOptions {
  uint32_t num_batches = 1;  // Of epoch 0, from batch 0; all if it has fewer.
  uint32_t num_threads = 1;  // The batches are spread over them.
  SamplerFactory factory;
  // Asked between batches, by several threads; an error ends the profile.
  std::function<absl::Status()> check;
};

// Publishes nothing. Scratch blocks grow as batches need it, up to the bound.
// ResourceExhausted: a batch would not fit into this machine's memory. Else
// the factory's, the samplers' and check's errors.
absl::StatusOr<SamplingMeasurement> ProfileSampling(
    const SamplerInput& input, const SamplerOptions& sampling,
    const ProfileOptions& options);

}  // namespace fgnn

#endif  // FGNN_SAMPLER_SERVICE_SAMPLING_PROFILE_H_
