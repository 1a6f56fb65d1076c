#include "trainer_service/daemon/training_profile.h"

#include <algorithm>
#include <cstdint>
#include <memory>
#include <new>
#include <vector>

#include "absl/strings/str_cat.h"
#include "shared/base/clock.h"
#include "shared/base/status.h"
#include "shared/base/units.h"
#include "shared/device/anonymous_memory.h"
#include "shared/device/device.h"
#include "shared/device/memory.h"
#include "trainer_service/daemon/batch_features.h"
#include "trainer_service/daemon/workplace.h"
#include "trainer_service/infer/rank_edges.h"
#include "trainer_service/nn/made_up_batch.h"
#include "trainer_service/rpc/profile_json.h"
#include "trainer_service/sync/optimizer.h"

namespace fgnn {
namespace {

// Batches whose features a trainer holds at once; see BatchSource, which keeps
// no more than a trainer's share of the open steps and of the next.
uint64_t BatchesHeld(const JobSpec& spec) {
  // Of devices that take turns one alone may train.
  const uint64_t trainers =
      spec.takes_turns() ? 1 : std::max(spec.num_trainers(), 1u);
  const uint64_t share =
      (spec.training.batches_per_step + trainers - 1) / trainers;
  const uint64_t steps = uint64_t{spec.training.most_staleness()} + 2;
  return 1 + std::min<uint64_t>(spec.features.ahead, steps * share);
}

// Before anything of that size is allocated.
absl::Status CheckLeast(const JobSpec& spec, uint64_t feature_bytes,
                        uint64_t parameter_bytes) {
  FGNN_ASSIGN_OR_RETURN(const uint64_t available, AvailableMemoryBytes());
  const uint64_t limit = spec.limits.memory_bytes.value_or(UINT64_MAX);
  const uint64_t have = std::min(limit, available);
  const uint64_t need = feature_bytes + parameter_bytes;
  if (need <= have) return absl::OkStatus();
  const bool by_limit = limit < available;
  return absl::ResourceExhaustedError(absl::StrCat(
      by_limit ? "limits.memory: " : "memory: ",
      "one training step needs at least ", FormatBytes(need),
      " (features of a batch ", FormatBytes(feature_bytes),
      " + weights, gradient and optimizer ", FormatBytes(parameter_bytes),
      "), ", FormatBytes(have), by_limit ? " allowed" : " available",
      "; lower sampling.batch_size, sampling.fanouts or model.hidden",
      by_limit ? ", or raise limits.memory" : ""));
}

// What a job has in its segment is this measurement's own.
struct StepTensors {
  std::unique_ptr<MadeUpBatch> batch;
  std::vector<float> weights;
  std::vector<float> gradient;

  uint64_t bytes() const {
    return batch->bytes() + (weights.size() + gradient.size()) * sizeof(float);
  }
};

// Seconds of the second of two steps.
absl::StatusOr<double> TrainTwice(const JobSpec& spec, Workplace& workplace,
                                  StepTensors& own, BatchFeatures& features) {
  const TaskView& task = own.batch->task();
  FGNN_RETURN_IF_ERROR(
      ExtractFeatures(workplace, task, workplace.team(), &features));
  TrainingBatch batch;
  batch.task = &task;
  batch.features = features.dense;
  batch.stored_rows = features.stored;
  batch.labels = own.batch->labels();
  batch.indptr = workplace.dataset().graph().indptr;
  batch.seed = spec.training.seed;
  Stopwatch watch;
  for (int step = 0; step < 2; ++step) {
    watch.Restart();
    FGNN_RETURN_IF_ERROR(
        workplace.model()
            .Gradient(own.weights, batch, absl::MakeSpan(own.gradient))
            .status());
  }
  return watch.Seconds();
}

// Of the largest batch.
uint64_t PairsOf(const JobSpec& spec, const Dataset& dataset) {
  if (!spec.training.predicts_links()) return 0;
  const uint64_t edges = std::min<uint64_t>(spec.sampling.batch_size,
                                            dataset.train_edges().size());
  return edges * (uint64_t{spec.training.negatives} + 1);
}

uint64_t LargestSplit(const Dataset& dataset) {
  return std::max(dataset.valid_edges().size(), dataset.test_edges().size());
}

absl::StatusOr<TrainingNeeds> Measure(const JobSpec& spec,
                                      absl::Span<const HopSize> hops,
                                      int num_threads,
                                      const std::filesystem::path& plugins) {
  TrainingNeeds needs;
  FGNN_ASSIGN_OR_RETURN(needs.program_bytes, AnonymousMemoryBytes());
  FGNN_ASSIGN_OR_RETURN(const std::unique_ptr<Workplace> workplace,
                        Workplace::OpenForJob(spec, num_threads, plugins));
  const uint64_t parameters = workplace->model().num_parameters();
  const uint32_t state_floats =
      StateFloatsPerParameter(OptimizerOf(spec.training));
  const uint64_t num_nodes = workplace->dataset().num_nodes();
  FGNN_RETURN_IF_ERROR(CheckHops(hops, num_nodes));
  const uint64_t parameter_bytes =
      parameters * (2 + state_floats) * sizeof(float);
  // Before the batch is made: where its features lie is the least of them.
  FGNN_RETURN_IF_ERROR(
      CheckLeast(spec, hops.back().num_sources * sizeof(const std::byte*),
                 parameter_bytes));
  StepTensors own;
  FGNN_ASSIGN_OR_RETURN(
      own.batch,
      MadeUpBatch::Make(hops, num_nodes, PairsOf(spec, workplace->dataset())));
  const uint64_t feature_bytes = FeatureBytes(*workplace, own.batch->task());
  FGNN_RETURN_IF_ERROR(CheckLeast(spec, feature_bytes, parameter_bytes));
  own.weights.resize(parameters);
  own.gradient.resize(parameters);
  workplace->model().Initialize(spec.training.seed,
                                absl::MakeSpan(own.weights));
  BatchFeatures features;
  FGNN_ASSIGN_OR_RETURN(needs.seconds_per_batch,
                        TrainTwice(spec, *workplace, own, features));
  FGNN_ASSIGN_OR_RETURN(const uint64_t bytes, AnonymousMemoryBytes());
  const uint64_t before = needs.program_bytes + own.bytes();
  needs.step_bytes = bytes - std::min(bytes, before) +
                     workplace->model().gradient_working_bytes() +
                     (BatchesHeld(spec) - 1) * feature_bytes;
  needs.num_parameters = parameters;
  needs.optimizer_floats_per_parameter = state_floats;
  needs.checkpoint_bytes = parameters * (1 + state_floats) * sizeof(float);
  if (spec.training.evaluate_every > 0) {
    const InferenceInput input = workplace->ForInference(own.weights, nullptr);
    needs.evaluation_shared_bytes = InferenceArrayBytes(input);
    needs.evaluation_bytes = parameters * sizeof(float) +
                             InferenceBytes(input) -
                             needs.evaluation_shared_bytes;
    if (spec.training.predicts_links()) {
      needs.evaluation_shared_bytes += EmbeddingBytes(input);
      needs.evaluation_bytes +=
          RankingBytes(input, LargestSplit(workplace->dataset()));
    }
  }
  return needs;
}

}  // namespace

absl::StatusOr<TrainingNeeds> ProfileTraining(
    const JobSpec& spec, absl::Span<const HopSize> hops, int num_threads,
    const std::filesystem::path& plugins) {
  try {
    return Measure(spec, hops, num_threads, plugins);
  } catch (const std::bad_alloc&) {
    return absl::ResourceExhaustedError(
        "memory: there is none left for one training step; lower "
        "sampling.batch_size, sampling.fanouts or model.hidden");
  }
}

absl::StatusOr<std::string> RunProfileCommand(
    const std::string& request, const std::string& device_name,
    const std::filesystem::path& plugins) {
  FGNN_ASSIGN_OR_RETURN(const Device device, ParseDevice(device_name));
  FGNN_RETURN_IF_ERROR(PinThisThread(device));
  return AnswerProfileRequest(request, [&](const JobSpec& spec,
                                           absl::Span<const HopSize> hops) {
    const uint32_t num_threads =
        spec.training.threads > 0 ? spec.training.threads
                                  : static_cast<uint32_t>(device.cores.size());
    return ProfileTraining(spec, hops, static_cast<int>(num_threads), plugins);
  });
}

}  // namespace fgnn
