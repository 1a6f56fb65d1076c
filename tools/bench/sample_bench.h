// Measures how fast a dataset's batches are sampled on this machine.
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

// Sampler that is measured in turns with the product's.
struct SampleBaseline {
  std::string name;
  SamplerFactory make;
  // Whether its batches have to be equal to the product's.
  bool makes_same_batches = false;
};

struct SampleBenchOptions {
  SamplerOptions sampling = {.fanouts = {15, 10, 5}};
  uint32_t batches = 30;  // Batches of a round, over all threads.
  uint32_t rounds = 5;    // Rounds, each of other batches; the fastest counts.
  uint32_t threads = 1;   // Number of threads, each with a sampler of its own.
  // Hot ranks that input nodes are marked with, as in a job; empty: none.
  HotRanks marks;
  std::optional<SampleBaseline> baseline;
  // Returns the allocations of the calling thread so far; null where they are
  // not counted.
  std::optional<uint64_t> (*thread_allocations)() = nullptr;
};

// Sums over the batches of a round.
struct SampleRound {
  double seconds = 0;  // Seconds of the slowest thread.
  uint64_t edges = 0;
  uint64_t input_nodes = 0;
  std::optional<uint64_t> allocations;
  SampleSeconds stages;  // Seconds of each stage, over all threads.

  double edges_per_second() const {
    return static_cast<double>(edges) / seconds;
  }
};

struct SampleBenchResult {
  SampleRound fused;
  // As options.baseline; nullopt: there is none.
  std::optional<SampleRound> baseline;
  uint64_t workspace_bytes = 0;  // Bytes of a sampler, beside graph and task.
  uint64_t num_nodes = 0;        // Number of the graph's vertices.

  double workspace_bytes_per_node() const {
    return static_cast<double>(workspace_bytes) /
           static_cast<double>(num_nodes);
  }
};

// InvalidArgument, naming the flag: no sampler takes these options.
absl::Status ValidateBenchFlags(const SampleBenchOptions& options);

// Measures. The first batches of each sampler warm it up and are not counted.
// Internal: the baseline should make the same batches, and made other ones.
// ResourceExhausted: no memory for the threads' tasks. Other errors: the
// samplers'.
absl::StatusOr<SampleBenchResult> RunSampleBench(
    const SamplerInput& input, const SampleBenchOptions& options);

// Makes `folder`, and writes batches 0 .. batches-1 of the job to
// `folder`/batch-<i>.npz, as WriteTaskNpz() does.
absl::Status DumpBatches(const SamplerInput& input,
                         const SampleBenchOptions& options,
                         const std::filesystem::path& folder);

}  // namespace fgnn

#endif  // FGNN_TOOLS_BENCH_SAMPLE_BENCH_H_
