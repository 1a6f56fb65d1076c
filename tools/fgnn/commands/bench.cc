// bench: what this machine makes of a dataset's sampling.
#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_join.h"
#include "shared/base/status.h"
#include "shared/graph/dataset.h"
#include "tools/bench/algorithm.h"
#include "tools/bench/idmap_bench.h"
#include "tools/bench/random_access.h"
#include "tools/bench/sample_bench.h"
#include "tools/fgnn/bench_report.h"
#include "tools/fgnn/commands/commands.h"

namespace fgnn {
namespace {

constexpr uint32_t kMostThreads = 1024;
constexpr uint32_t kMostBatches = 100000;
constexpr uint32_t kMostIdMapBatches = 1000;  // All are kept in memory.
constexpr uint32_t kMostRounds = 1000000;

struct BenchFlags {
  std::string dataset;
  std::string dump;
  std::string baseline;
  SampleBenchOptions options;
};

template <typename Report>
void Print(const Report& report, const CommandContext& context) {
  if (context.json) {
    std::cout << ToJson(report).dump(2) << "\n";
  } else {
    std::cout << ToText(report);
  }
}

absl::StatusOr<Dataset> OpenDataset(const BenchFlags& flags) {
  FGNN_RETURN_IF_ERROR(ValidateBenchFlags(flags.options));
  return Dataset::Open(flags.dataset, Validation::kStructure);
}

absl::Status BenchSample(BenchFlags flags, const CommandContext& context) {
  flags.options.with_two_step = !flags.baseline.empty();
  flags.options.thread_allocations = context.thread_allocations;
  FGNN_ASSIGN_OR_RETURN(const Dataset dataset, OpenDataset(flags));
  const SamplerInput input = {dataset.graph(), dataset.train()};
  if (!flags.dump.empty()) {
    FGNN_RETURN_IF_ERROR(DumpBatches(input, flags.options, flags.dump));
  }
  FGNN_ASSIGN_OR_RETURN(const SampleBenchResult result,
                        RunSampleBench(input, flags.options));
  const SampleReport report = {
      flags.options, flags.baseline, result,
      RandomReadsPerSecond(input.graph, flags.options.rounds)};
  Print(report, context);
  return absl::OkStatus();
}

absl::Status BenchIdMap(const BenchFlags& flags,
                        const CommandContext& context) {
  FGNN_ASSIGN_OR_RETURN(const Dataset dataset, OpenDataset(flags));
  IdMapReport report = {flags.options, {}};
  FGNN_ASSIGN_OR_RETURN(
      report.result,
      RunIdMapBench({dataset.graph(), dataset.train()}, flags.options));
  Print(report, context);
  return absl::OkStatus();
}

// What every command takes.
std::shared_ptr<BenchFlags> AddFlags(CLI::App& app, uint32_t most_batches) {
  // Shared with the callback, which lives as long as the app.
  auto flags = std::make_shared<BenchFlags>();
  SampleBenchOptions& options = flags->options;
  app.add_option("--dataset", flags->dataset, "Dataset folder")
      ->required()
      ->type_name("DIR");
  app.add_option("--algorithm", options.algorithm,
                 absl::StrJoin(BenchAlgorithms(), ", "))
      ->capture_default_str();
  app.add_option("--fanouts", options.sampling.fanouts,
                 "Edges per vertex and hop, next to the seeds first; -1: all")
      ->delimiter(',')
      ->type_name("LIST")
      ->default_str("15,10,5");
  app.add_option("--batch-size", options.sampling.batch_size,
                 "Seeds of a batch")
      ->check(CLI::Range(uint32_t{1}, UINT32_MAX))
      ->capture_default_str();
  app.add_option("--batches", options.batches, "Batches of a round")
      ->check(CLI::Range(uint32_t{1}, most_batches))
      ->capture_default_str();
  app.add_option("--rounds", options.rounds, "Rounds; the fastest counts")
      ->check(CLI::Range(uint32_t{1}, kMostRounds))
      ->capture_default_str();
  app.add_option("--seed", options.sampling.seed, "Of every random choice")
      ->capture_default_str();
  return flags;
}

}  // namespace

void AddBenchGroup(CLI::App& app, CommandContext& context) {
  CLI::App* bench = app.add_subcommand(
      "bench", "What this machine makes of a dataset, and what bounds it");
  bench->require_subcommand(1);

  CLI::App* sample =
      bench->add_subcommand("sample", "Sampled edges per second");
  const auto flags = AddFlags(*sample, kMostBatches);
  sample
      ->add_option("--threads", flags->options.threads, "Samplers side by side")
      ->check(CLI::Range(uint32_t{1}, kMostThreads))
      ->capture_default_str();
  sample
      ->add_option("--dump", flags->dump,
                   "Also write the job's first batches to DIR/batch-<i>.npz")
      ->type_name("DIR");
  sample
      ->add_option("--baseline", flags->baseline,
                   "two-step: time a sampler beside it that makes the same "
                   "batches by way of a list of edges")
      ->check(CLI::IsMember({"two-step"}));
  sample->callback(
      [flags, &context] { context.status = BenchSample(*flags, context); });

  CLI::App* idmap = bench->add_subcommand(
      "idmap", "Global ids mapped to local ids per second, by each id map");
  const auto idmap_flags = AddFlags(*idmap, kMostIdMapBatches);
  idmap->callback([idmap_flags, &context] {
    context.status = BenchIdMap(*idmap_flags, context);
  });
}

}  // namespace fgnn
