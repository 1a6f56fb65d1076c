#include "trainer_service/daemon/training_profile.h"

#include <algorithm>
#include <cstdint>
#include <memory>
#include <new>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "shared/base/clock.h"
#include "shared/base/crc32c.h"
#include "shared/base/status.h"
#include "shared/base/units.h"
#include "shared/config/rules/model_rules.h"
#include "shared/device/anonymous_memory.h"
#include "shared/device/memory.h"
#include "trainer_service/daemon/step_bound.h"
#include "trainer_service/features/made_up_store.h"
#include "trainer_service/nn/made_up_batch.h"
#include "trainer_service/sync/made_up_step.h"
#include "trainer_service/sync/optimizer.h"

namespace fgnn {
namespace {

// Returns the number of batches whose features a trainer holds at once.
// BatchSource keeps at most a trainer's share of the open steps and of the next
// step. If the next batch copies rows, the batch before is kept in any case;
// the thread ahead may still copy from it while the loop extracts a batch
// itself.
uint64_t BatchesHeld(const JobSpec& spec, bool matches) {
  // If devices take turns, a single device may be the only one that trains.
  const uint64_t trainers =
      spec.takes_turns() ? 1 : std::max(spec.num_trainers(), 1u);
  const uint64_t share =
      (spec.training.batches_per_step + trainers - 1) / trainers;
  const uint64_t steps = uint64_t{spec.training.most_staleness()} + 2;
  const uint64_t waiting =
      std::min<uint64_t>(spec.features.ahead, steps * share);
  const uint64_t kept = spec.features.ahead > 0 ? 2 : 1;
  return 1 + std::max<uint64_t>(waiting, matches ? kept : 0);
}

// Memory that a step may take.
struct StepMemory {
  uint64_t all_bytes = 0;      // limits.memory, or what the machine has left.
  uint64_t program_bytes = 0;  // Part of limits.memory that the program has.
  bool by_limit = false;       // Whether it is limits.memory that sets it.

  uint64_t have_bytes() const {
    return all_bytes - std::min(all_bytes, program_bytes);
  }
};

// `program_bytes`: what this process has already.
absl::StatusOr<StepMemory> MemoryForAStep(const JobSpec& spec,
                                          uint64_t program_bytes) {
  FGNN_ASSIGN_OR_RETURN(const uint64_t available, AvailableMemoryBytes());
  const uint64_t limit = spec.limits.memory_bytes.value_or(UINT64_MAX);
  if (limit < available) {
    return StepMemory{limit, program_bytes, true};
  }
  return StepMemory{available, 0, false};
}

// Returns the error of a job of which one step does not fit. `how`: such as
// "at least".
absl::Status Refuse(const StepMemory& memory, const char* how,
                    uint64_t need_bytes, const std::string& of_what) {
  // A limit that is too low is an error in the job; little memory is not.
  const auto code = memory.by_limit ? absl::StatusCode::kInvalidArgument
                                    : absl::StatusCode::kResourceExhausted;
  return absl::Status(
      code,
      absl::StrCat(
          memory.by_limit ? "limits.memory: " : "memory: ", "the job needs ",
          how, " ", FormatBytes(need_bytes + memory.program_bytes),
          " for one training step", of_what, ", ",
          FormatBytes(memory.all_bytes),
          memory.by_limit ? " allowed" : " available",
          "; lower sampling.batch_size, sampling.fanouts or model.hidden",
          memory.by_limit ? ", or raise limits.memory" : ""));
}

// Returns an error if the least need does not fit into memory. Called before
// anything of that size is allocated.
absl::Status CheckLeast(const StepMemory& memory, uint64_t feature_bytes,
                        uint64_t parameter_bytes) {
  const uint64_t need = feature_bytes + parameter_bytes;
  if (need <= memory.have_bytes()) return absl::OkStatus();
  return Refuse(
      memory, "at least", need,
      absl::StrCat(" (features of a batch ", FormatBytes(feature_bytes),
                   " + weights, gradient and optimizer ",
                   FormatBytes(parameter_bytes),
                   memory.program_bytes == 0
                       ? ""
                       : " + program " + FormatBytes(memory.program_bytes),
                   ")"));
}

// Memory that a job has in its segment. The measurement allocates its own.
struct OwnSegment {
  std::unique_ptr<MadeUpBatch> batch;
  std::vector<float> weights;
  std::vector<float> gradient;

  uint64_t bytes() const {
    return batch->bytes() + (weights.size() + gradient.size()) * sizeof(float);
  }
};

absl::Status MakeFirstWeights(const JobSpec& spec, TrainerBackend& backend,
                              OwnSegment& own) {
  own.weights.resize(NumParameters(backend));
  own.gradient.resize(NumParameters(backend));
  StepTensors step;
  step.new_weights = absl::MakeSpan(own.weights);
  return backend.Step(spec.training.seed, OptimizerOf(spec.training), step);
}

// Extracts the batch's features and makes `times` steps. Returns the seconds of
// the last one.
absl::StatusOr<double> Train(const JobSpec& spec, TrainerBackend& backend,
                             int times, OwnSegment& own,
                             TaskFeatures& features) {
  TrainingBatch task;
  task.task = &own.batch->task();
  task.labels = own.batch->labels();
  task.targets = own.batch->targets();
  task.seed = spec.training.seed;
  FGNN_RETURN_IF_ERROR(backend
                           .Extract(*task.task, /*before=*/nullptr,
                                    TrainerThread::kLoop, &features)
                           .status());
  Stopwatch watch;
  for (int step = 0; step < times; ++step) {
    watch.Restart();
    FGNN_RETURN_IF_ERROR(backend
                             .Gradient({0, own.weights}, task, &features,
                                       absl::MakeSpan(own.gradient))
                             .status());
  }
  return watch.Seconds();
}

// Returns the number of pairs of the largest batch; 0 without link prediction.
uint64_t PairsOf(const JobSpec& spec, const Dataset& dataset) {
  if (!spec.training.predicts_links()) return 0;
  const uint64_t edges = std::min<uint64_t>(spec.sampling.batch_size,
                                            dataset.train_edges().size());
  return edges * (uint64_t{spec.training.negatives} + 1);
}

// Makes a batch of one of `parts` parts of these sizes.
absl::StatusOr<std::unique_ptr<MadeUpBatch>> MakeBatch(
    const JobSpec& spec, const TrainerBackend& backend,
    absl::Span<const HopSize> hops, uint64_t parts) {
  const auto cut = [parts](uint64_t size) {
    return (size + parts - 1) / parts;
  };
  std::vector<HopSize> sizes;
  for (const HopSize& hop : hops) {
    sizes.push_back(
        {cut(hop.num_destinations), cut(hop.num_sources), cut(hop.num_edges)});
  }
  return MadeUpBatch::Make(
      sizes, backend.dataset().num_nodes(),
      {.num_pairs = cut(PairsOf(spec, backend.dataset())),
       .target_columns = HasTargets(spec.training.objective())
                             ? backend.model_options().num_classes
                             : 0,
       .weighs_edges = spec.sampling.weighs_edges(),
       // With `auto`, parts share rows that are copied in any case.
       .shares_inputs = spec.training.share_inputs == "on"});
}

// Returns a rough guess at the bytes of a step: some arrays of each layer.
uint64_t GuessStepBytes(absl::Span<const HopSize> hops,
                        const ModelOptions& model) {
  constexpr uint64_t kArrays = 8;
  const uint64_t width = std::max<uint64_t>(model.input_columns, model.hidden);
  uint64_t numbers = 0;
  for (const HopSize& hop : hops) {
    numbers += kArrays * (hop.num_sources * width + hop.num_edges);
  }
  return numbers * sizeof(float);
}

// Trains parts of the batch until it is known that memory holds a whole one.
absl::Status TryParts(const JobSpec& spec, absl::Span<const HopSize> hops,
                      const StepMemory& memory, uint64_t program_bytes,
                      TrainerBackend& backend, OwnSegment& own) {
  // What there is before any batch does not grow with it.
  FGNN_ASSIGN_OR_RETURN(const PlacedBytes before, backend.BytesInUse());
  const uint64_t taken = before.host - std::min(before.host, program_bytes);
  StepBound bound(memory.have_bytes() - std::min(memory.have_bytes(), taken),
                  GuessStepBytes(hops, backend.model_options()),
                  NumParameters(backend) * sizeof(float));
  std::optional<uint64_t> parts = bound.NextParts();
  for (; parts.has_value() && *parts > 1; parts = bound.NextParts()) {
    FGNN_ASSIGN_OR_RETURN(own.batch, MakeBatch(spec, backend, hops, *parts));
    const std::unique_ptr<TaskFeatures> features = backend.NewFeatures();
    FGNN_RETURN_IF_ERROR(
        Train(spec, backend, /*times=*/1, own, *features).status());
    FGNN_ASSIGN_OR_RETURN(const PlacedBytes bytes, backend.BytesInUse());
    bound.Add(bytes.host - std::min(bytes.host, before.host));
  }
  own.batch.reset();
  if (parts.has_value()) return absl::OkStatus();
  return Refuse(memory, "about", taken + bound.WholeBytes(),
                ", by what a part of a batch takes");
}

// Returns the memory of the back end's GPU, of which training takes work_bytes.
std::optional<GpuMemory> GpuOf(const TrainerBackend& backend,
                               uint64_t work_bytes) {
  const std::optional<DeviceMemory> before = backend.MemoryBefore();
  if (!before.has_value()) return std::nullopt;
  return GpuMemory{.total_bytes = before->total_bytes,
                   .free_bytes = before->free_bytes,
                   .work_bytes = work_bytes,
                   .pinned_bytes = before->pinned_bytes};
}

// Returns the sizes of a small batch. They depend on the job alone.
std::vector<HopSize> SmallHops(size_t num_hops, uint64_t num_nodes) {
  // No multiple of what vector instructions take at once.
  constexpr uint64_t kSeeds = 61;
  constexpr uint64_t kEdges = 5;  // Edges of a destination.
  std::vector<HopSize> hops;
  uint64_t destinations = std::min(kSeeds, num_nodes);
  for (size_t hop = 0; hop < num_hops; ++hop) {
    const uint64_t sources = std::min(2 * destinations, num_nodes);
    hops.push_back({destinations, sources, kEdges * destinations});
    destinations = sources;
  }
  return hops;
}

// Trains a small batch of made-up features, whatever the sizes of the job's
// batches and the rows of the dataset's folder: those of two hosts may differ.
absl::StatusOr<Arithmetic> FindArithmetic(JobSpec spec, size_t num_hops,
                                          int num_threads,
                                          const BackendFactory& open,
                                          OwnSegment& own) {
  spec.features.store = kMadeUpStore;
  FGNN_ASSIGN_OR_RETURN(const std::unique_ptr<TrainerBackend> backend,
                        open(spec, num_threads));
  const std::vector<HopSize> hops =
      SmallHops(num_hops, backend->dataset().num_nodes());
  FGNN_ASSIGN_OR_RETURN(own.batch, MakeBatch(spec, *backend, hops, 1));
  const std::unique_ptr<TaskFeatures> features = backend->NewFeatures();
  FGNN_RETURN_IF_ERROR(
      Train(spec, *backend, /*times=*/1, own, *features).status());
  Arithmetic found;
  found.kind = backend->origin().gpu.empty() ? "cores" : backend->origin().gpu;
  found.gradient_crc =
      ExtendCrc32c(0, own.gradient.data(), own.gradient.size() * sizeof(float));
  FGNN_ASSIGN_OR_RETURN(found.step_crc,
                        CrcOfMadeUpStep(OptimizerOf(spec.training)));
  return found;
}

absl::StatusOr<TrainingProfile> Measure(const JobSpec& spec,
                                        absl::Span<const HopSize> hops,
                                        int num_threads,
                                        const BackendFactory& open) {
  TrainingProfile needs;
  FGNN_ASSIGN_OR_RETURN(needs.program_bytes, AnonymousMemoryBytes());
  FGNN_ASSIGN_OR_RETURN(std::unique_ptr<TrainerBackend> backend,
                        open(spec, num_threads));
  const uint64_t parameters = NumParameters(*backend);
  const uint32_t state_floats =
      StateFloatsPerParameter(OptimizerOf(spec.training));
  FGNN_RETURN_IF_ERROR(CheckHops(hops, backend->dataset().num_nodes()));
  FGNN_ASSIGN_OR_RETURN(const StepMemory memory,
                        MemoryForAStep(spec, needs.program_bytes));
  const uint64_t parameter_bytes =
      parameters * (2 + state_floats) * sizeof(float);
  // Checked before the batch is made. The least memory for its features is one
  // pointer per row.
  FGNN_RETURN_IF_ERROR(
      CheckLeast(memory, hops.back().num_sources * sizeof(const std::byte*),
                 parameter_bytes));
  OwnSegment own;
  FGNN_RETURN_IF_ERROR(MakeFirstWeights(spec, *backend, own));
  FGNN_RETURN_IF_ERROR(
      TryParts(spec, hops, memory, needs.program_bytes, *backend, own));
  FGNN_ASSIGN_OR_RETURN(own.batch, MakeBatch(spec, *backend, hops, 1));
  const PlacedBytes feature_bytes = backend->BytesOfFeatures(own.batch->task());
  FGNN_RETURN_IF_ERROR(CheckLeast(memory, feature_bytes.host, parameter_bytes));
  std::unique_ptr<TaskFeatures> features = backend->NewFeatures();
  FGNN_ASSIGN_OR_RETURN(needs.seconds_per_batch,
                        Train(spec, *backend, /*times=*/2, own, *features));
  FGNN_ASSIGN_OR_RETURN(const PlacedBytes bytes, backend->BytesInUse());
  const uint64_t before = needs.program_bytes + own.bytes();
  const uint64_t match_bytes = features->match_bytes();
  const uint64_t held = BatchesHeld(spec, match_bytes > 0);
  needs.step_bytes = bytes.host - std::min(bytes.host, before) +
                     (held - 1) * feature_bytes.host;
  needs.match_bytes = held * match_bytes +
                      (held - BatchesHeld(spec, false)) * feature_bytes.host;
  needs.num_parameters = parameters;
  needs.optimizer_floats_per_parameter = state_floats;
  needs.checkpoint_bytes = parameters * (1 + state_floats) * sizeof(float);
  needs.gpu = GpuOf(*backend, bytes.device + (held - 1) * feature_bytes.device);
  if (spec.training.evaluate_every > 0) {
    const EvaluationBytes evaluation = backend->BytesOfEvaluation();
    needs.evaluation_shared_bytes = evaluation.shared;
    needs.evaluation_bytes = parameters * sizeof(float) + evaluation.own.host;
    if (needs.gpu.has_value()) {
      needs.gpu->evaluation_bytes = evaluation.own.device;
      needs.gpu->hidden_bytes = evaluation.kept;
    }
  }
  features.reset();
  backend.reset();
  // Hosts compare it, and share no job whose model is the user's.
  if (IsUsersKind(spec.model.kind)) return needs;
  FGNN_ASSIGN_OR_RETURN(
      needs.arithmetic,
      FindArithmetic(spec, hops.size(), num_threads, open, own));
  return needs;
}

}  // namespace

absl::StatusOr<TrainingProfile> ProfileTraining(const JobSpec& spec,
                                                absl::Span<const HopSize> hops,
                                                int num_threads,
                                                const BackendFactory& open) {
  try {
    return Measure(spec, hops, num_threads, open);
  } catch (const std::bad_alloc&) {
    return absl::ResourceExhaustedError(
        "memory: there is none left for one training step; lower "
        "sampling.batch_size, sampling.fanouts or model.hidden");
  }
}

}  // namespace fgnn
