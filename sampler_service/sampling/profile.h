// Measures what a job's batches are like by making some of them.
#ifndef FGNN_SAMPLER_SERVICE_SAMPLING_PROFILE_H_
#define FGNN_SAMPLER_SERVICE_SAMPLING_PROFILE_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "sampler_service/sampling/sampler.h"
#include "shared/device/memory.h"
#include "shared/measured/profiles.h"

namespace fgnn {

struct ProfileOptions {
  // Number of batches, from batch 0 of epoch 0; all if the epoch has fewer.
  uint32_t num_batches = 1;
  uint32_t num_threads = 1;  // Number of threads that share the batches.
  // Bytes of the tables by which a sampler orders batches; 0: it does not.
  uint64_t order_bytes = 0;
  SamplerFactory factory;
  // What the process may have in all, program included; see limits.memory.
  uint64_t limit_bytes = UINT64_MAX;
  // Returns what the process may still take of this machine's memory. Called
  // once, before the threads touch their tables.
  std::function<absl::StatusOr<uint64_t>()> available = [] {
    return AvailableMemoryBytes();
  };
  // Memory of the GPU before the job takes any; nullopt: samplers use cores.
  std::optional<GpuMemory> gpu = std::nullopt;
  // Called between batches, by several threads. An error ends the profile.
  std::function<absl::Status()> check;
};

// Makes batches and publishes none. Scratch blocks grow as batches need it, up
// to the bound. The first batch of a thread reads cold memory, so its seconds
// count only where there is no other. The workspace is what the samplers of all
// threads, and the order of batches, take once they have met most vertices. Of
// a GPU, topology and batches are what a job has there that has room for both.
// ResourceExhausted: samplers or a batch would not fit into this machine's
// memory. InvalidArgument: they would not fit into the limit. Other errors:
// those of the factory, the samplers and `check`.
absl::StatusOr<SamplingProfile> ProfileSampling(const SamplerInput& input,
                                                const SamplerOptions& sampling,
                                                const ProfileOptions& options);

}  // namespace fgnn

#endif  // FGNN_SAMPLER_SERVICE_SAMPLING_PROFILE_H_
