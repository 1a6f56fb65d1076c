// Flags that several commands of `fgnn bench` have, and `fgnn bench sample`,
// for a program that adds flags of its own.
#ifndef FGNN_TOOLS_FGNN_COMMANDS_BENCH_H_
#define FGNN_TOOLS_FGNN_COMMANDS_BENCH_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "shared/command_line/command_line.h"
#include "tools/bench/sample_bench.h"
#include "tools/fgnn/command_context.h"

namespace fgnn {

inline void AddDatasetFlag(Command app, std::string& dataset) {
  app.AddOption("--dataset", dataset, "Dataset folder").Required().Takes("DIR");
}

inline void AddFanoutsFlag(Command app, std::vector<int32_t>& fanouts) {
  app.AddOption("--fanouts", fanouts,
                "Edges per vertex and hop, next to the seeds first; -1: all")
      .SplitAt(',')
      .Takes("LIST")
      .ShowDefault("15,10,5");
}

// Adds a flag with a default and a range that ends at `most`.
template <typename Number>
void AddNumberFlag(Command app, const char* name, Number& number, Number most,
                   const std::string& help) {
  app.AddOption(name, number, help).Between(Number{1}, most).ShowDefault();
}

inline void AddBatchSizeFlag(Command app, uint32_t& batch_size) {
  AddNumberFlag(app, "--batch-size", batch_size, UINT32_MAX,
                "Seeds of a batch");
}

inline void AddThreadsFlag(Command app, uint32_t& threads, const char* help) {
  AddNumberFlag(app, "--threads", threads, uint32_t{1024}, help);
}

inline void AddRoundsFlags(Command app, uint32_t& batches,
                           uint32_t most_batches, uint32_t& rounds) {
  AddNumberFlag(app, "--batches", batches, most_batches, "Batches of a round");
  AddNumberFlag(app, "--rounds", rounds, uint32_t{1'000'000},
                "Rounds; the fastest counts");
}

inline void AddSeedFlag(Command app, uint64_t& seed) {
  app.AddOption("--seed", seed, "Seed of every random choice").ShowDefault();
}

struct BenchFlags {
  std::string dataset;  // Dataset folder.
  std::string dump;     // Folder that batches are written to; empty: none.
  std::string algorithm = "khop";
  std::string weights = "edge_weights.npy";  // File of the dataset folder.
  SampleBenchOptions options;
};

// Adds the flags of `fgnn bench sample` to `app`. `flags` must outlive the
// parsing.
void AddSampleFlags(Command app, BenchFlags& flags);

// Measures, and prints the report. Errors: those of the dataset, of
// DumpBatches() and of RunSampleBench().
absl::Status BenchSample(const BenchFlags& flags,
                         const CommandContext& context);

}  // namespace fgnn

#endif  // FGNN_TOOLS_FGNN_COMMANDS_BENCH_H_
