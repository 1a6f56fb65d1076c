// How fast a dataset's batches are sampled on this machine.
#ifndef FGNN_TOOLS_BENCH_SAMPLE_BENCH_H_
#define FGNN_TOOLS_BENCH_SAMPLE_BENCH_H_

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "sampler_service/sampling/sampler.h"

namespace fgnn {

struct SampleBenchOptions {
  SamplerOptions sampling = {.fanouts = {15, 10, 5}};
  uint32_t batches = 30;  // Of a round, over all threads.
  uint32_t rounds = 5;    // Each of other batches; the fastest counts.
  uint32_t threads = 1;   // Each with a sampler of its own.
  HotRanks marks;         // Of input nodes, as a job's are; none if empty.
  // Sampled with in turns: "two-step", whose batches have to be the same (see
  // TwoStepSampler), "bare-loop" (BareLoop), or none.
  std::string baseline;
  // Allocations of the calling thread so far, where they are counted.
  std::optional<uint64_t> (*thread_allocations)() = nullptr;
};

// Sums over the batches of a round.
struct SampleRound {
  double seconds = 0;  // Of the slowest thread.
  uint64_t edges = 0;
  uint64_t input_nodes = 0;
  std::optional<uint64_t> allocations;
  SampleSeconds stages;  // Over all threads.

  double edges_per_second() const {
    return static_cast<double>(edges) / seconds;
  }
};

struct SampleBenchResult {
  SampleRound fused;
  std::optional<SampleRound> baseline;
  uint64_t workspace_bytes = 0;  // Of a sampler, beside graph and task.
  uint64_t num_nodes = 0;        // Of the graph.

  double workspace_bytes_per_node() const {
    return static_cast<double>(workspace_bytes) /
           static_cast<double>(num_nodes);
  }
};

// InvalidArgument naming the flag: options that no sampler takes.
absl::Status ValidateBenchFlags(const SampleBenchOptions& options);

// The first batches of each sampler warm it up and are not counted.
// Internal: the two samplers made different batches. ResourceExhausted: no
// memory for the threads' tasks. Else the samplers' errors.
absl::StatusOr<SampleBenchResult> RunSampleBench(
    const SamplerInput& input, const SampleBenchOptions& options);

// Writes batches 0 .. batches-1 of the job to `folder`/batch-<i>.npz, as
// WriteTaskNpz() does; makes the folder.
absl::Status DumpBatches(const SamplerInput& input,
                         const SampleBenchOptions& options,
                         const std::filesystem::path& folder);

}  // namespace fgnn

#endif  // FGNN_TOOLS_BENCH_SAMPLE_BENCH_H_
