#include "trainer_service/daemon/training_profile.h"

#include <algorithm>
#include <cstdint>
#include <memory>
#include <new>
#include <optional>
#include <vector>

#include "absl/strings/str_cat.h"
#include "shared/base/clock.h"
#include "shared/base/status.h"
#include "shared/base/units.h"
#include "shared/device/anonymous_memory.h"
#include "shared/device/memory.h"
#include "trainer_service/nn/made_up_batch.h"
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

// Returns ResourceExhausted if the least need does not fit into memory. Called
// before anything of that size is allocated.
absl::Status CheckLeast(const JobSpec& spec, uint64_t feature_bytes,
                        uint64_t parameter_bytes) {
  FGNN_ASSIGN_OR_RETURN(const uint64_t available, AvailableMemoryBytes());
  const uint64_t limit = spec.limits.memory_bytes.value_or(UINT64_MAX);
  const uint64_t have = std::min(limit, available);
  const uint64_t need = feature_bytes + parameter_bytes;
  if (need <= have) return absl::OkStatus();
  const bool by_limit = limit < available;
  // A limit that is too low is an error in the job; little memory is not.
  const auto code = by_limit ? absl::StatusCode::kInvalidArgument
                             : absl::StatusCode::kResourceExhausted;
  return absl::Status(
      code,
      absl::StrCat(
          by_limit ? "limits.memory: " : "memory: ",
          "one training step needs at least ", FormatBytes(need),
          " (features of a batch ", FormatBytes(feature_bytes),
          " + weights, gradient and optimizer ", FormatBytes(parameter_bytes),
          "), ", FormatBytes(have), by_limit ? " allowed" : " available",
          "; lower sampling.batch_size, sampling.fanouts or model.hidden",
          by_limit ? ", or raise limits.memory" : ""));
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
  own.weights.resize(backend.num_parameters());
  own.gradient.resize(backend.num_parameters());
  StepTensors step;
  step.new_weights = absl::MakeSpan(own.weights);
  return backend.Step(spec.training.seed, OptimizerOf(spec.training), step);
}

// Makes two steps. Returns the seconds of the second one.
absl::StatusOr<double> TrainTwice(const JobSpec& spec, TrainerBackend& backend,
                                  OwnSegment& own, TaskFeatures& features) {
  TrainingTask task;
  task.task = &own.batch->task();
  task.labels = own.batch->labels();
  task.targets = own.batch->targets();
  task.seed = spec.training.seed;
  FGNN_RETURN_IF_ERROR(backend
                           .Extract(*task.task, /*before=*/nullptr,
                                    TrainerThread::kLoop, &features)
                           .status());
  Stopwatch watch;
  for (int step = 0; step < 2; ++step) {
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

absl::StatusOr<TrainingProfile> Measure(const JobSpec& spec,
                                        absl::Span<const HopSize> hops,
                                        int num_threads,
                                        const BackendFactory& open) {
  TrainingProfile needs;
  FGNN_ASSIGN_OR_RETURN(needs.program_bytes, AnonymousMemoryBytes());
  FGNN_ASSIGN_OR_RETURN(const std::unique_ptr<TrainerBackend> backend,
                        open(spec, num_threads));
  const uint64_t parameters = backend->num_parameters();
  const uint32_t state_floats =
      StateFloatsPerParameter(OptimizerOf(spec.training));
  const uint64_t num_nodes = backend->dataset().num_nodes();
  FGNN_RETURN_IF_ERROR(CheckHops(hops, num_nodes));
  const uint64_t parameter_bytes =
      parameters * (2 + state_floats) * sizeof(float);
  // Checked before the batch is made. The least memory for its features is one
  // pointer per row.
  FGNN_RETURN_IF_ERROR(
      CheckLeast(spec, hops.back().num_sources * sizeof(const std::byte*),
                 parameter_bytes));
  OwnSegment own;
  FGNN_ASSIGN_OR_RETURN(
      own.batch,
      MadeUpBatch::Make(
          hops, num_nodes,
          {.num_pairs = PairsOf(spec, backend->dataset()),
           .target_columns = HasTargets(spec.training.objective())
                                 ? backend->model_options().num_classes
                                 : 0,
           .weighs_edges = spec.sampling.weighs_edges()}));
  const PlacedBytes feature_bytes = backend->BytesOfFeatures(own.batch->task());
  FGNN_RETURN_IF_ERROR(CheckLeast(spec, feature_bytes.host, parameter_bytes));
  FGNN_RETURN_IF_ERROR(MakeFirstWeights(spec, *backend, own));
  const std::unique_ptr<TaskFeatures> features = backend->NewFeatures();
  FGNN_ASSIGN_OR_RETURN(needs.seconds_per_batch,
                        TrainTwice(spec, *backend, own, *features));
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
