// bench extract: measures how fast features reach a batch.
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "shared/base/status.h"
#include "shared/graph/dataset.h"
#include "tools/bench/aggregate_bench.h"
#include "tools/bench/extract_bench.h"
#include "tools/bench/files/generated_features.h"
#include "tools/fgnn/commands/bench.h"
#include "tools/fgnn/commands/commands.h"
#include "tools/fgnn/reports/bench_report.h"
#include "tools/fgnn/reports/print_report.h"
#include "trainer_service/features/cpu/disk_feature_store.h"
#include "trainer_service/features/cpu/mapped_feature_store.h"

namespace fgnn {
namespace {

// Most batches: all are kept in memory.
constexpr uint32_t kMostExtractedBatches = 1000;
constexpr uint64_t kMostRows = uint64_t{1} << 32;
constexpr uint64_t kMostColumns = uint64_t{1} << 24;

struct ExtractFlags {
  std::string dataset;  // Empty: generated features.
  uint64_t rows = 1'000'000;
  uint64_t columns = 100;
  std::string type = "f32";
  std::string store = "memory";
  DiskStoreOptions disk;
  ExtractBenchOptions options;
  std::optional<double> edges_per_row;  // Aggregates too; edges per row.
};

// The memory that a store borrows: a dataset or generated features.
struct ExtractInput {
  std::optional<Dataset> dataset;
  GeneratedFeatures generated;
  std::unique_ptr<FeatureStore> store;
  // The store, if it reads a disk; else null.
  const DiskFeatureStore* disk = nullptr;
};

absl::StatusOr<ExtractInput> OpenExtractInput(const ExtractFlags& flags) {
  ExtractInput input;
  if (flags.dataset.empty()) {
    FGNN_ASSIGN_OR_RETURN(
        input.generated,
        GenerateFeatures(FeatureTypeOf(flags.type).value(), flags.rows,
                         flags.columns, flags.options.seed));
    input.store = MakeMappedFeatureStore(input.generated.view);
    return input;
  }
  FGNN_ASSIGN_OR_RETURN(input.dataset,
                        Dataset::Open(flags.dataset, Validation::kShapes));
  if (input.dataset->features().columns == 0) {
    return absl::InvalidArgumentError(flags.dataset +
                                      ": this dataset has no features");
  }
  FGNN_RETURN_IF_ERROR(CheckHasAllRows(*input.dataset));
  if (flags.store == "memory") {
    input.store = MakeMappedFeatureStore(input.dataset->features());
    return input;
  }
  FGNN_ASSIGN_OR_RETURN(
      std::unique_ptr<DiskFeatureStore> disk,
      OpenDiskFeatureStore(input.dataset->feature_file(), flags.disk));
  input.disk = disk.get();
  input.store = std::move(disk);
  return input;
}

absl::Status BenchExtract(const ExtractFlags& flags,
                          const CommandContext& context) {
  FGNN_ASSIGN_OR_RETURN(const ExtractInput input, OpenExtractInput(flags));
  const FeatureStore& store = *input.store;
  if (flags.edges_per_row.has_value()) {
    AggregateReport report = {{flags.options, *flags.edges_per_row},
                              store.num_rows(),
                              store.num_columns(),
                              store.type(),
                              {}};
    FGNN_ASSIGN_OR_RETURN(report.result,
                          RunAggregateBench(store, report.options));
    PrintReport(report, context);
    return absl::OkStatus();
  }
  ExtractReport report = {
      flags.options, store.num_rows(), store.num_columns(), store.type(), {}};
  if (input.disk != nullptr) {
    report.options.num_reads = [&input] { return input.disk->num_reads(); };
  }
  FGNN_ASSIGN_OR_RETURN(report.result, RunExtractBench(store, report.options));
  PrintReport(report, context);
  return absl::OkStatus();
}

void AddExtractFlags(Command app, ExtractFlags& flags) {
  const Option dataset =
      app.AddOption("--dataset", flags.dataset,
                    "Dataset folder; else features are made up in memory")
          .Takes("DIR");
  app.AddOption("--rows", flags.rows, "Made-up rows")
      .Between(uint64_t{1}, kMostRows)
      .ShowDefault()
      .Excludes(dataset);
  app.AddOption("--columns", flags.columns, "Made-up columns")
      .Between(uint64_t{1}, kMostColumns)
      .ShowDefault()
      .Excludes(dataset);
  app.AddOption("--type", flags.type,
                "Type of made-up features: f32, f16, bf16")
      .OneOf({"f32", "f16", "bf16"})
      .ShowDefault()
      .Excludes(dataset);
  app.AddOption("--store", flags.store,
                "memory: the mapped file; disk: direct I/O by io_uring")
      .OneOf({"memory", "disk"})
      .ShowDefault()
      .Needs(dataset);
  app.AddOption("--depth", flags.disk.depth,
                "disk: reads under way at once, for each thread")
      .Between(uint32_t{1}, uint32_t{4096})
      .ShowDefault();
}

void AddRunFlags(Command app, ExtractBenchOptions& options) {
  AddNumberFlag(app, "--batch-rows", options.batch_rows, kMostRows,
                "Rows of a batch, all different");
  AddRoundsFlags(app, options.batches, kMostExtractedBatches, options.rounds);
  AddThreadsFlag(app, options.threads, "Threads that share a batch");
  const Option capacity =
      app.AddOption("--capacity", options.capacity, "Rows of the hot table")
          .Between(uint64_t{0}, kMostRows)
          .ShowDefault();
  app.AddOption("--hit-rate", options.hit_rate,
                "Share of the rows that the table has; without it all rows "
                "are equally likely")
      .Between(0.0, 1.0)
      .Needs(capacity);
  AddSeedFlag(app, options.seed);
}

}  // namespace

void AddBenchExtract(Command bench, CommandContext& context) {
  const Command app = bench.AddSubcommand(
      "extract", "Bytes of features per second, beside a plain copy");
  ExtractFlags& flags = OnRun(app, context, &BenchExtract);
  AddExtractFlags(app, flags);
  AddRunFlags(app, flags.options);
  app.AddOption("--edges-per-row", flags.edges_per_row,
                "Make a first layer's means over so many edges for each row, "
                "of rows where they lie beside copies")
      .Between(0.5, 1000.0);
}

}  // namespace fgnn
