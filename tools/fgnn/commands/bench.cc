#include "tools/fgnn/commands/bench.h"

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "sampler_service/sampling/alias_tables.h"
#include "shared/base/files/file.h"
#include "shared/base/status.h"
#include "shared/graph/book/partition_book.h"
#include "shared/graph/dataset.h"
#include "tools/bench/cache_bench.h"
#include "tools/bench/idmap_bench.h"
#include "tools/bench/match/match_bench.h"
#include "tools/bench/random_access.h"
#include "tools/bench/split/split_bench.h"
#include "tools/fgnn/commands/commands.h"
#include "tools/fgnn/reports/bench_report.h"
#include "tools/fgnn/reports/cache_report.h"
#include "tools/fgnn/reports/match_report.h"
#include "tools/fgnn/reports/print_report.h"
#include "tools/fgnn/reports/split_report.h"

namespace fgnn {
namespace {

constexpr uint32_t kMostSampledBatches = 100000;
// Most batches: all are kept in memory.
constexpr uint32_t kMostIdMapBatches = 1000;
constexpr uint32_t kMostEpochs = 10000;
// Most batches whose rows are compared: all are kept in memory.
constexpr uint32_t kMostMatchBatches = 10000;
constexpr uint32_t kMostTrainers = 64;

// The graph and the options that batches are sampled with.
struct BenchInput {
  Dataset dataset;
  std::optional<AliasTables> weights;

  SamplerInput view() const {
    return {dataset.graph(), dataset.train(),
            weights.has_value() ? &*weights : nullptr};
  }
};

// Sets the options of the sampling.
absl::StatusOr<BenchInput> OpenInput(const BenchFlags& flags,
                                     SamplerOptions& sampling) {
  sampling = flags.options.sampling;
  FGNN_ASSIGN_OR_RETURN(sampling.algorithm,
                        SamplingAlgorithmOf(flags.algorithm));
  FGNN_RETURN_IF_ERROR(ValidateBenchFlags(flags.options));
  FGNN_ASSIGN_OR_RETURN(Dataset dataset,
                        Dataset::Open(flags.dataset, Validation::kStructure));
  BenchInput input = {std::move(dataset), std::nullopt};
  if (sampling.algorithm == SamplingAlgorithm::kWeighted) {
    FGNN_ASSIGN_OR_RETURN(
        input.weights,
        AliasTables::Open(input.dataset, flags.weights, flags.options.threads));
  }
  FGNN_RETURN_IF_ERROR(Validate(input.view(), sampling));
  return input;
}

absl::Status BenchIdMap(const BenchFlags& flags,
                        const CommandContext& context) {
  IdMapReport report = {flags.options, {}};
  FGNN_ASSIGN_OR_RETURN(const BenchInput input,
                        OpenInput(flags, report.options.sampling));
  FGNN_ASSIGN_OR_RETURN(report.result,
                        RunIdMapBench(input.view(), report.options));
  PrintReport(report, context);
  return absl::OkStatus();
}

struct CacheFlags {
  BenchFlags input;
  std::vector<std::string> policies = {"presc", "degree", "random", "vip",
                                       "auto"};
  std::string plot;
  std::optional<uint64_t> row_bytes;
  CacheBenchOptions options;
};

absl::Status BenchCache(const CacheFlags& flags,
                        const CommandContext& context) {
  CacheBenchOptions options = flags.options;
  for (const std::string& word : flags.policies) {
    FGNN_ASSIGN_OR_RETURN(CachePolicy policy, CachePolicyOf(word));
    options.policies.push_back(std::move(policy));
  }
  options.threads = flags.input.options.threads;
  FGNN_ASSIGN_OR_RETURN(const BenchInput opened,
                        OpenInput(flags.input, options.sampling));
  CacheReport report = {
      opened.dataset.name(),
      opened.dataset.num_nodes(),
      flags.row_bytes.value_or(opened.dataset.features().row_bytes()),
      options,
      {}};
  FGNN_ASSIGN_OR_RETURN(report.result, RunCacheBench(opened.view(), options));
  if (!flags.plot.empty()) {
    FGNN_RETURN_IF_ERROR(WriteFileAtomically(flags.plot, ToSvg(report)));
  }
  PrintReport(report, context);
  return absl::OkStatus();
}

struct MatchFlags {
  BenchFlags input;
  MatchBenchOptions options;
};

absl::Status BenchMatch(const MatchFlags& flags,
                        const CommandContext& context) {
  MatchBenchOptions options = flags.options;
  options.threads = flags.input.options.threads;
  FGNN_ASSIGN_OR_RETURN(const BenchInput opened,
                        OpenInput(flags.input, options.sampling));
  MatchReport report = {opened.dataset.name(),
                        opened.dataset.features().row_bytes(),
                        options,
                        {}};
  FGNN_ASSIGN_OR_RETURN(report.result, RunMatchBench(opened.view(), options));
  PrintReport(report, context);
  return absl::OkStatus();
}

struct SplitFlags {
  BenchFlags input;
  SplitReport report;
};

absl::Status BenchSplit(const SplitFlags& flags,
                        const CommandContext& context) {
  SplitReport report = flags.report;
  SplitBenchOptions& options = report.options;
  options.batches = flags.input.options.batches;
  options.rounds = flags.input.options.rounds;
  options.threads = flags.input.options.threads;
  FGNN_ASSIGN_OR_RETURN(const BenchInput opened,
                        OpenInput(flags.input, options.sampling));
  report.dataset = opened.dataset.name();
  report.feature_columns = opened.dataset.features().columns;
  const absl::StatusOr<PartitionBook> book =
      PartitionBook::Open(opened.dataset);
  if (!book.ok()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "parts are made by the dataset's partition book: ",
        MessageOf(book.status()), "; make one with 'fgnn dataset partition ",
        flags.input.dataset, "'"));
  }
  FGNN_ASSIGN_OR_RETURN(report.cases,
                        RunSplitBench(opened.view(), *book, options));
  PrintReport(report, context);
  return absl::OkStatus();
}

// Adds the flags that every command takes.
void AddInputFlags(Command app, BenchFlags* flags) {
  SampleBenchOptions& options = flags->options;
  AddDatasetFlag(app, flags->dataset);
  // Plugins are left out, as they belong to a service.
  std::vector<std::string> algorithms = SamplingKinds();
  algorithms.pop_back();
  app.AddOption("--algorithm", flags->algorithm,
                absl::StrJoin(algorithms, ", "))
      .OneOf(algorithms)
      .ShowDefault();
  app.AddFlag("--replace", options.sampling.replace,
              "khop, khop_weighted: draw with replacement");
  app.AddFlag("!--no-resample", options.sampling.resample,
              "Draw each vertex once, as PyG does");
  app.AddOption("--weights", flags->weights,
                "khop_weighted: file of the dataset folder")
      .ShowDefault();
  app.AddOption("--walks", options.sampling.walks.num_walks,
                "random_walk: walks from a vertex")
      .ShowDefault();
  app.AddOption("--walk-length", options.sampling.walks.length,
                "random_walk: most steps of a walk")
      .ShowDefault();
  app.AddOption("--restart", options.sampling.walks.restart,
                "random_walk: odds that a walk ends before a step")
      .ShowDefault();
  AddFanoutsFlag(app, options.sampling.fanouts);
  AddBatchSizeFlag(app, options.sampling.batch_size);
  AddSeedFlag(app, options.sampling.seed);
}

void AddSamplersFlag(Command app, BenchFlags* flags) {
  AddThreadsFlag(app, flags->options.threads, "Samplers side by side");
}

void AddCacheCommand(Command bench, CommandContext& context) {
  const Command app = bench.AddSubcommand(
      "cache", "Hit rates of a feature cache, by policy and capacity");
  CacheFlags& flags = OnRun(app, context, &BenchCache);
  AddInputFlags(app, &flags.input);
  AddSamplersFlag(app, &flags.input);
  CacheBenchOptions& options = flags.options;
  app.AddOption("--capacities", options.capacities,
                "Shares of the vertices that are cached")
      .SplitAt(',')
      .Takes("LIST")
      .ShowDefault("0.01,0.05,0.1,0.2,0.3");
  app.AddOption("--policies", flags.policies,
                absl::StrCat("Policies to compare: ",
                             absl::StrJoin(HotnessPolicies(), ", "),
                             "; presc#K pre-samples K epochs, auto#K at "
                             "most K"))
      .SplitAt(',')
      .Takes("LIST")
      .ShowDefault(absl::StrJoin(flags.policies, ","));
  AddNumberFlag(app, "--epochs", options.epochs, kMostEpochs,
                "Epochs to measure, from epoch 0 of the seed");
  AddNumberFlag(app, "--presample-epochs", options.presample_epochs,
                kMostEpochs,
                "Epochs that presc pre-samples, none of them measured");
  app.AddOption("--row-bytes", flags.row_bytes,
                "Bytes of a vertex's features; default: the dataset's");
  app.AddOption("--plot", flags.plot,
                "Also draw hit rates over capacities, as SVG")
      .Takes("FILE");
}

void AddMatchCommand(Command bench, CommandContext& context) {
  const Command app = bench.AddSubcommand(
      "match",
      "Rows to load with those of the batches before, as drawn and matched");
  MatchFlags& flags = OnRun(app, context, &BenchMatch);
  AddInputFlags(app, &flags.input);
  AddSamplersFlag(app, &flags.input);
  MatchBenchOptions& options = flags.options;
  AddNumberFlag(app, "--batches", options.batches, kMostMatchBatches,
                "Batches to measure, from batch 0 of the seed");
  AddNumberFlag(app, "--window", options.window, uint32_t{kMaxWindow},
                absl::StrCat("Batches that are reordered together; up to ",
                             kMostBestWindow, " also by the best order"));
  AddNumberFlag(app, "--trainers", options.trainers, kMostTrainers,
                "Trainers that batches are dealt to, by their places in a step "
                "of as many batches");
  app.AddOption("--cache", options.caches,
                "Shares of the vertices that are cached")
      .SplitAt(',')
      .Takes("LIST")
      .ShowDefault("0,0.1,0.3");
  app.AddOption("--dependency", options.dependencies,
                "Values of sampling.batch_dependency")
      .SplitAt(',')
      .Takes("LIST")
      .ShowDefault("1,8,32");
}

void AddSplitCommand(Command bench, CommandContext& context) {
  const Command app = bench.AddSubcommand(
      "split",
      "Parts of batches (training.parts) beside micro-batches of the same "
      "seeds");
  SplitFlags& flags = OnRun(app, context, &BenchSplit);
  AddInputFlags(app, &flags.input);
  AddRoundsFlags(app, flags.input.options.batches, kMostSampledBatches,
                 flags.input.options.rounds);
  AddThreadsFlag(app, flags.input.options.threads,
                 "Threads that count an epoch for the caches");
  SplitReport& report = flags.report;
  app.AddOption("--parts", report.options.parts, "Numbers of parts")
      .SplitAt(',')
      .Takes("LIST")
      .ShowDefault("2,4");
  app.AddOption("--cache", report.options.caches,
                "Shares of the vertices that each trainer caches")
      .SplitAt(',')
      .Takes("LIST")
      .ShowDefault("0,0.1,0.25");
  AddNumberFlag(app, "--hidden", report.hidden, uint32_t{65536},
                "Width of the hidden rows that parts send");
  app.AddOption("--precision", report.precision, "f32 or bf16")
      .OneOf({"f32", "bf16"})
      .ShowDefault();
}

}  // namespace

void AddSampleFlags(Command app, BenchFlags& flags) {
  AddInputFlags(app, &flags);
  AddRoundsFlags(app, flags.options.batches, kMostSampledBatches,
                 flags.options.rounds);
  AddSamplersFlag(app, &flags);
  app.AddOption("--dump", flags.dump,
                "Also write the job's first batches to DIR/batch-<i>.npz")
      .Takes("DIR");
}

absl::Status BenchSample(const BenchFlags& flags,
                         const CommandContext& context) {
  SampleBenchOptions options = flags.options;
  options.thread_allocations = context.thread_allocations;
  FGNN_ASSIGN_OR_RETURN(const BenchInput opened,
                        OpenInput(flags, options.sampling));
  const SamplerInput input = opened.view();
  if (!flags.dump.empty()) {
    FGNN_RETURN_IF_ERROR(DumpBatches(input, options, flags.dump));
  }
  FGNN_ASSIGN_OR_RETURN(const SampleBenchResult result,
                        RunSampleBench(input, options));
  const SampleReport report = {
      options, result, RandomReadsPerSecond(input.graph, options.rounds)};
  PrintReport(report, context);
  return absl::OkStatus();
}

void AddBenchGroup(Command app, CommandContext& context) {
  const Command bench = app.AddSubcommand(
      "bench", "What this machine makes of a dataset, and what bounds it");
  context.places["bench"] = CommandPlace::kWithoutService;
  bench.NeedSubcommand();

  const Command sample =
      bench.AddSubcommand("sample", "Sampled edges per second");
  AddSampleFlags(sample, OnRun(sample, context, &BenchSample));

  const Command idmap = bench.AddSubcommand(
      "idmap", "Global ids mapped to local ids per second, by each id map");
  BenchFlags& flags = OnRun(idmap, context, &BenchIdMap);
  AddInputFlags(idmap, &flags);
  AddRoundsFlags(idmap, flags.options.batches, kMostIdMapBatches,
                 flags.options.rounds);
  AddBenchExtract(bench, context);
  AddCacheCommand(bench, context);
  AddMatchCommand(bench, context);
  AddSplitCommand(bench, context);
  AddBenchTraining(bench, context);
}

}  // namespace fgnn
