// `fgnn bench sample` in turns with another sampler:
//
//   fgnn_bench_sample --baseline two-step --dataset DIR --fanouts 15,10,5
#include <iostream>
#include <string>

#include "absl/status/status.h"
#include "shared/base/status.h"
#include "shared/command_line/command_line.h"
#include "tests/bench/baselines/bare_loop.h"
#include "tests/bench/baselines/two_step_sampler.h"
#include "tools/bench/allocation_counter.h"
#include "tools/fgnn/command_context.h"
#include "tools/fgnn/commands/bench.h"

int main(int argc, char** argv) {
  fgnn::CommandContext context;
  context.thread_allocations = fgnn::ThreadAllocations;
  std::string baseline;
  fgnn::CommandLine line("The sampler in turns with another one",
                         "fgnn_bench_sample");
  const fgnn::Command app = line.root();
  fgnn::BenchFlags flags;
  fgnn::AddSampleFlags(app, flags);
  app.AddOption("--baseline", baseline,
                "two-step, a sampler that makes the same batches by way of a "
                "list of edges; bare-loop, a loop that draws and maps ids and "
                "does nothing else")
      .OneOf({"two-step", "bare-loop"})
      .Required();
  app.AddFlag("--json", context.json, "Print JSON");
  if (const auto code = line.ParseMain(argc, argv)) return *code;
  const bool is_two_step = baseline == "two-step";
  flags.options.baseline = fgnn::SampleBaseline{
      baseline, is_two_step ? fgnn::NewTwoStepSampler : fgnn::NewBareLoop,
      /*makes_same_batches=*/is_two_step};
  const absl::Status status = fgnn::BenchSample(flags, context);
  if (status.ok()) return 0;
  std::cerr << "fgnn_bench_sample: " << fgnn::MessageOf(status) << "\n";
  return 1;
}
