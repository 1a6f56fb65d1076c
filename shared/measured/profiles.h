// What executors measured on a job before its queue is made.
#ifndef FGNN_SHARED_MEASURED_PROFILES_H_
#define FGNN_SHARED_MEASURED_PROFILES_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "shared/minibatch/hop_size.h"

namespace fgnn {

// The memory of a daemon's GPU, and what the daemon takes of it for a job.
struct GpuMemory {
  uint64_t total_bytes = 0;
  // Bytes that were free before the daemon took any for the job. The rest has
  // the contexts of processes, and what else uses the GPU.
  uint64_t free_bytes = 0;
  // Bytes of a sampler's topology and tables of weights, if they lie there.
  uint64_t topology_bytes = 0;
  // Bytes of the batches of a sampler's threads, or of a trainer's model,
  // products and features of batches.
  uint64_t work_bytes = 0;
  // Bytes of an evaluation beside work_bytes, of a trainer.
  uint64_t evaluation_bytes = 0;
  // Bytes beside evaluation_bytes for the hidden states and messages of all
  // vertices, where a trainer keeps them on its GPU.
  uint64_t hidden_bytes = 0;
  // Bytes of the features in the host's memory that a trainer has registered
  // for its GPU, so that they stay there; 0: the GPU does not read them there.
  uint64_t pinned_bytes = 0;

  friend bool operator==(const GpuMemory&, const GpuMemory&) = default;
};

// Measurements by a sampler on the first batches of the job.
struct SamplingProfile {
  uint64_t max_task_bytes = 0;    // Most task bytes of the sampled batches.
  uint64_t bound_task_bytes = 0;  // Bytes that no batch's task can exceed.
  uint64_t max_input_nodes = 0;
  uint64_t max_edges = 0;
  // Ts: seconds between two batches of a sampler with all its threads.
  double seconds_per_batch = 0;
  // Resident, anonymous bytes of one sampler: those that all its threads take
  // for sampling, and those that its process has before.
  uint64_t workspace_bytes = 0;
  uint64_t program_bytes = 0;
  // Most of each size in any of the batches, first hop first.
  std::vector<HopSize> hops;
  uint32_t num_threads = 0;  // Threads of one sampler.
  // Memory of the sampler's GPU; nullopt: it works on cores.
  std::optional<GpuMemory> gpu = std::nullopt;

  friend bool operator==(const SamplingProfile&,
                         const SamplingProfile&) = default;
};

// The arithmetic of a trainer for a job: equal where the bits of its gradients
// and steps are equal.
struct Arithmetic {
  std::string kind;  // Kind of the trainer: "cores", or the GPU's model.
  // CRC32C of a made-up gradient of the job's model and precision.
  uint32_t gradient_crc = 0;
  // CRC32C of the weights after made-up steps of the job's optimizer. Each host
  // makes all steps, also one without places.
  uint32_t step_crc = 0;

  friend bool operator==(const Arithmetic&, const Arithmetic&) = default;
};

// Measurements by a trainer on a batch of such sizes. Bytes are resident and
// anonymous, of one trainer.
struct TrainingProfile {
  uint64_t num_parameters = 0;
  uint32_t optimizer_floats_per_parameter = 0;
  // Tt: seconds of a batch, without the extraction of features.
  double seconds_per_batch = 0;
  uint64_t program_bytes = 0;  // Bytes before the job's model was made.
  uint64_t step_bytes = 0;  // Bytes of model, threads and features of batches.
  // Bytes among these that copying rows of the batch before takes; 0: none are
  // copied.
  uint64_t match_bytes = 0;
  // Bytes of an evaluation beside step_bytes: of each trainer, and of what the
  // trainers share. 0: the job evaluates nothing.
  uint64_t evaluation_bytes = 0;
  uint64_t evaluation_shared_bytes = 0;
  // Bytes beside step_bytes to write or read a checkpoint.
  uint64_t checkpoint_bytes = 0;
  // Memory of the trainer's GPU; nullopt: it works on cores.
  std::optional<GpuMemory> gpu = std::nullopt;
  Arithmetic arithmetic = {};

  friend bool operator==(const TrainingProfile&,
                         const TrainingProfile&) = default;
};

}  // namespace fgnn

#endif  // FGNN_SHARED_MEASURED_PROFILES_H_
