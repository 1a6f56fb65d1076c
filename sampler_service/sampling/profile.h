// Measures what a job's batches are like by making some of them.
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
  // Most bytes of a task, of the batches that were made.
  uint64_t max_task_bytes = 0;
  uint64_t bound_task_bytes = 0;  // Bytes that no task of the job exceeds.
  uint64_t max_input_nodes = 0;
  uint64_t max_edges = 0;
  // Ts: seconds between two batches of a sampler with all its threads. The
  // first batch of a thread reads cold memory, so it counts only where there is
  // no other.
  double seconds_per_batch = 0;
  // Resident anonymous bytes, with the job's graph open. They are what the
  // process held before, and what the samplers of all threads take once they
  // have met most vertices.
  uint64_t workspace_bytes = 0;
  uint64_t program_bytes = 0;
  // First hop first: the most destinations, sources and edges of any batch.
  std::vector<HopSize> hops;
  uint32_t num_threads = 0;
};

struct ProfileOptions {
  // Number of batches, from batch 0 of epoch 0; all if the epoch has fewer.
  uint32_t num_batches = 1;
  uint32_t num_threads = 1;  // Number of threads that share the batches.
  SamplerFactory factory;
  // Called between batches, by several threads. An error ends the profile.
  std::function<absl::Status()> check;
};

// Makes batches and publishes none. Scratch blocks grow as batches need it, up
// to the bound. ResourceExhausted: a batch would not fit into this machine's
// memory. Other errors: those of the factory, the samplers and `check`.
absl::StatusOr<SamplingMeasurement> ProfileSampling(
    const SamplerInput& input, const SamplerOptions& sampling,
    const ProfileOptions& options);

}  // namespace fgnn

#endif  // FGNN_SAMPLER_SERVICE_SAMPLING_PROFILE_H_
