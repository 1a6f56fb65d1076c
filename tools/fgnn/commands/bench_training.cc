// bench epoch: measures training through the whole service; bench train:
// without it.
#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "nlohmann/json.hpp"
#include "sampler_service/job/job_sampling.h"
#include "shared/base/status.h"
#include "shared/config/job_spec_proto.h"
#include "shared/device/device.h"
#include "shared/graph/dataset.h"
#include "shared/minibatch/batches_per_epoch.h"
#include "tools/bench/files/task_files.h"
#include "tools/bench/sample_bench.h"
#include "tools/fgnn/commands/bench.h"
#include "tools/fgnn/commands/commands.h"
#include "tools/fgnn/reports/epoch_report.h"
#include "tools/fgnn/reports/print_report.h"
#include "tools/fgnn/service/interrupt.h"
#include "tools/fgnn/service/own_service.h"
#include "tools/fgnn/service/program.h"
#include "tools/fgnn/service/temporary_folder.h"
#include "tools/fgnn/service/trainer_profile.h"

namespace fgnn {
namespace {

// Most batches. An epoch may be one batch, and a job has at most a million
// epochs.
constexpr uint32_t kMostTrainingBatches = 999999;
constexpr uint32_t kTrainRounds = 5;

struct EpochFlags {
  std::string dataset;
  std::string model = "graphsage";
  std::optional<uint32_t> layers;
  uint32_t hidden = 256;
  std::vector<int32_t> fanouts = {15, 10, 5};
  uint32_t batch_size = 1024;
  uint32_t batches = 100;
  std::string precision = "f32";
  std::vector<std::string> devices;
};

// Returns a job that only trains: no validation, and one checkpoint, at its
// end.
absl::StatusOr<v1::JobSpec> JobOf(const EpochFlags& flags) {
  std::error_code error;
  const std::filesystem::path folder =
      std::filesystem::absolute(flags.dataset, error);
  if (error) return ErrnoToStatus(error.value(), "--dataset");
  FGNN_ASSIGN_OR_RETURN(const Dataset dataset,
                        Dataset::Open(folder, Validation::kShapes));
  v1::JobSpec spec;
  spec.set_dataset(folder.lexically_normal().string());
  spec.mutable_model()->set_kind(flags.model);
  spec.mutable_model()->set_layers(
      flags.layers.value_or(static_cast<uint32_t>(flags.fanouts.size())));
  spec.mutable_model()->set_hidden(flags.hidden);
  spec.mutable_sampling()->mutable_fanouts()->Add(flags.fanouts.begin(),
                                                  flags.fanouts.end());
  spec.mutable_sampling()->set_batch_size(flags.batch_size);
  spec.mutable_devices()->Add(flags.devices.begin(), flags.devices.end());
  v1::TrainingSpec& training = *spec.mutable_training();
  training.set_precision(flags.precision);
  training.set_evaluate_every(0);
  training.set_checkpoint_every(0);
  FGNN_ASSIGN_OR_RETURN(spec, MakeEffective(spec, {AllCoresDevice()}));
  const uint64_t batches =
      BatchesPerEpoch(dataset.train().size(), flags.batch_size);
  if (batches == 0) {
    return absl::InvalidArgumentError(
        flags.dataset + ": this dataset has no vertices to train on");
  }
  // The first epoch is a warm-up: caches fill, and buffers grow.
  spec.mutable_training()->set_epochs(
      static_cast<uint32_t>(1 + (flags.batches + batches - 1) / batches));
  return spec;
}

void BenchEpoch(const EpochFlags& flags, CommandContext& context) {
  Interrupt interrupt;  // Made before gRPC starts threads.
  const absl::StatusOr<v1::JobSpec> spec = JobOf(flags);
  if (!spec.ok()) {
    context.status = spec.status();
    return;
  }
  absl::StatusOr<std::vector<EpochMetrics>> epochs =
      RunInOwnService(*spec, interrupt);
  if (interrupt.raised()) {
    context.exit_code = kInterruptedExitCode;
    return;
  }
  if (!epochs.ok()) {
    context.status = epochs.status();
    return;
  }
  epochs->erase(epochs->begin());
  PrintReport(EpochReport{*spec, *std::move(epochs)}, context);
}

// Returns the seconds of sampling the batches of each round, by all cores of
// the device.
absl::StatusOr<std::vector<double>> SampleRounds(const JobSampling& job,
                                                 uint32_t batches,
                                                 uint32_t threads) {
  SampleBenchOptions options;
  options.sampling = job.options;
  options.batches = batches;
  options.rounds = 1;
  options.threads = threads;
  std::vector<double> seconds;
  for (uint32_t round = 0; round < kTrainRounds; ++round) {
    FGNN_ASSIGN_OR_RETURN(const SampleBenchResult result,
                          RunSampleBench(job.input(), options));
    seconds.push_back(result.fused.seconds);
  }
  return seconds;
}

// Converts fgnn-trainer's rounds, each with its seconds of sampling, into
// epochs.
absl::StatusOr<std::vector<EpochMetrics>> AsEpochs(
    const std::string& rounds, const std::vector<double>& sampling,
    uint32_t batches) {
  const auto json = nlohmann::ordered_json::parse(rounds, nullptr,
                                                  /*allow_exceptions=*/false);
  if (!json.is_array() || json.size() != sampling.size()) {
    return absl::InternalError("fgnn-trainer bench said: " + rounds);
  }
  std::vector<EpochMetrics> epochs;
  for (const nlohmann::ordered_json& round : json) {
    nlohmann::ordered_json stages = {{"sample", sampling[epochs.size()]}};
    double seconds = sampling[epochs.size()];
    for (const auto& [stage, taken] : round.items()) {
      stages[stage] = taken;
      seconds += taken.get<double>();
    }
    epochs.push_back(
        {{"batches", batches}, {"seconds", seconds}, {"stages", stages}});
  }
  return epochs;
}

// Measures at most the batches of one epoch, one round after the other. All
// cores sample, then all cores train.
absl::StatusOr<EpochReport> MeasureTraining(const EpochFlags& flags) {
  FGNN_ASSIGN_OR_RETURN(v1::JobSpec spec, JobOf(flags));
  if (spec.devices_size() != 1) {
    return absl::InvalidArgumentError(
        "--devices: one process trains on one device; name one");
  }
  FGNN_ASSIGN_OR_RETURN(const Device device, ParseCpuDevice(spec.devices(0)));
  FGNN_RETURN_IF_ERROR(PinThisThread(device));
  FGNN_ASSIGN_OR_RETURN(const std::filesystem::path trainer,
                        FindProgram("fgnn-trainer"));
  const auto threads = static_cast<uint32_t>(device.cores.size());
  FGNN_ASSIGN_OR_RETURN(
      const JobSampling job,
      OpenJobSampling(FromProto(spec), {.num_threads = threads}));
  const auto batches = static_cast<uint32_t>(
      std::min<uint64_t>(flags.batches, job.batches_per_epoch()));
  FGNN_ASSIGN_OR_RETURN(const TemporaryFolder folder, TemporaryFolder::Make());
  FGNN_RETURN_IF_ERROR(
      WriteTaskFiles(job.input(), job.options, batches, folder.path()));
  FGNN_ASSIGN_OR_RETURN(const std::vector<double> sampling,
                        SampleRounds(job, batches, threads));
  FGNN_ASSIGN_OR_RETURN(const std::string request,
                        ProfileRequestJson(spec, {}));
  FGNN_ASSIGN_OR_RETURN(
      const std::string rounds,
      AskTrainer(
          trainer, folder.path(),
          {"bench", "--device", device.name, "--tasks", folder.path().string(),
           "--rounds", std::to_string(kTrainRounds), "--request", request}));
  EpochReport report = {std::move(spec), {}, "rounds"};
  FGNN_ASSIGN_OR_RETURN(report.epochs, AsEpochs(rounds, sampling, batches));
  return report;
}

void BenchTrain(const EpochFlags& flags, CommandContext& context) {
  const absl::StatusOr<EpochReport> report = MeasureTraining(flags);
  context.status = report.status();
  if (report.ok()) PrintReport(*report, context);
}

void AddFlags(Command app, EpochFlags& flags) {
  AddDatasetFlag(app, flags.dataset);
  app.AddOption("--model", flags.model, "Kind of model").ShowDefault();
  app.AddOption("--layers", flags.layers, "Layers; one per fanout");
  app.AddOption("--hidden", flags.hidden, "Width of the hidden layers")
      .ShowDefault();
  AddFanoutsFlag(app, flags.fanouts);
  AddBatchSizeFlag(app, flags.batch_size);
  AddNumberFlag(app, "--batches", flags.batches, kMostTrainingBatches,
                "epoch: fewest batches that count, in whole epochs after "
                "the first; train: batches of a round");
  app.AddOption("--precision", flags.precision, "f32 or bf16").ShowDefault();
  app.AddOption("--devices", flags.devices,
                "Where executors run, e.g. cpu:0-1; default: all cores");
}

}  // namespace

void AddBenchTraining(Command bench, CommandContext& context) {
  const Command train = bench.AddSubcommand(
      "train",
      "Milliseconds a trained batch, sampling included, with neither queue, "
      "board nor daemons");
  AddFlags(train, OnRun(train, context, &BenchTrain));
  const Command app = bench.AddSubcommand(
      "epoch",
      "Milliseconds a trained batch, through a whole service of its own");
  AddFlags(app, OnRun(app, context, &BenchEpoch));
}

}  // namespace fgnn
