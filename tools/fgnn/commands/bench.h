// `fgnn bench sample`, for a program that adds flags of its own.
#ifndef FGNN_TOOLS_FGNN_COMMANDS_BENCH_H_
#define FGNN_TOOLS_FGNN_COMMANDS_BENCH_H_

#include <memory>
#include <string>

#include "absl/status/status.h"
#include "shared/command_line/command_line.h"
#include "tools/bench/sample_bench.h"
#include "tools/fgnn/command_context.h"

namespace fgnn {

struct BenchFlags {
  std::string dataset;  // Dataset folder.
  std::string dump;     // Folder that batches are written to; empty: none.
  std::string algorithm = "khop";
  std::string weights = "edge_weights.npy";  // File of the dataset folder.
  SampleBenchOptions options;
};

// Adds the flags of `fgnn bench sample` to `app`. The result must outlive the
// parsing.
std::shared_ptr<BenchFlags> AddSampleFlags(Command app);

// Measures, and prints the report. Errors: those of the dataset, of
// DumpBatches() and of RunSampleBench().
absl::Status BenchSample(BenchFlags flags, const CommandContext& context);

}  // namespace fgnn

#endif  // FGNN_TOOLS_FGNN_COMMANDS_BENCH_H_
