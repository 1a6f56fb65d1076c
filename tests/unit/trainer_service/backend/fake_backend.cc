#include "tests/unit/trainer_service/backend/fake_backend.h"

#include <algorithm>
#include <cstddef>
#include <optional>
#include <utility>

#include "absl/memory/memory.h"
#include "shared/base/status.h"

namespace fgnn {
namespace {

struct FakeFeatures final : public TaskFeatures {
  void Reset() override { task.reset(); }
  uint64_t match_bytes() const override { return 0; }

  std::optional<BatchSeq> task;
};

}  // namespace

std::vector<float> FakeStep(
    absl::Span<const float> old,
    const std::vector<absl::Span<const float>>& gradients,
    const std::vector<uint32_t>& num_seeds) {
  if (old.empty()) return {1, 2, 3, 4};
  std::vector<float> next(old.begin(), old.end());
  float all_seeds = 0;
  for (const uint32_t seeds : num_seeds) all_seeds += static_cast<float>(seeds);
  for (size_t batch = 0; batch < gradients.size(); ++batch) {
    const float share = static_cast<float>(num_seeds[batch]) / all_seeds;
    for (size_t i = 0; i < kFakeParameters; ++i) {
      next[i] -= 0.5F * share * gradients[batch][i];
    }
  }
  return next;
}

FakeBackend::FakeBackend(Dataset dataset) : dataset_(std::move(dataset)) {
  options_.num_classes = 3;
  options_.input_columns = dataset_.features().columns;
  ParameterInfo weights;
  weights.name = "weights";
  weights.shape = {kFakeParameters};
  parameters_ = {weights};
}

std::unique_ptr<FakeBackend> FakeBackend::Open(
    const std::filesystem::path& dataset_folder) {
  return absl::WrapUnique(new FakeBackend(
      Dataset::Open(dataset_folder, Validation::kShapes).value()));
}

absl::Status FakeBackend::CacheAsPlanned(const TrainerCache& /*plan*/) {
  return absl::OkStatus();
}

void FakeBackend::GiveUpMoreThan(const TrainerCache& /*plan*/) {}

std::unique_ptr<TaskFeatures> FakeBackend::NewFeatures() const {
  return std::make_unique<FakeFeatures>();
}

absl::StatusOr<ExtractedRows> FakeBackend::Extract(
    const TaskView& task, const TaskFeatures* /*before*/, TrainerThread thread,
    TaskFeatures* features) {
  ++extracted_[static_cast<size_t>(thread)];
  static_cast<FakeFeatures*>(features)->task = task.seq;
  return ExtractedRows{.num_cached = task.input_nodes.size()};
}

absl::StatusOr<BatchResult> FakeBackend::Gradient(
    const VersionedWeights& weights, const TrainingBatch& task,
    TaskFeatures* features, absl::Span<float> gradient) {
  if (static_cast<FakeFeatures*>(features)->task != task.task->seq) {
    return absl::InternalError("the features are another task's");
  }
  const std::vector<float> values(weights.values.begin(), weights.values.end());
  const auto copy = on_device_.emplace(weights.version, values).first;
  if (copy->second != values) {
    return absl::InternalError("the weights are another version's");
  }
  for (size_t i = 0; i < kFakeParameters; ++i) {
    gradient[i] = FakeGradient(copy->second[i], task.task->seq, i);
  }
  return BatchResult{.loss = 0.5, .num_correct = 1};
}

absl::Status FakeBackend::Step(uint64_t /*seed*/,
                               const OptimizerOptions& /*options*/,
                               const StepTensors& step) {
  const std::vector<float> next =
      FakeStep(step.old_weights, step.gradients, step.batch_examples);
  std::copy(next.begin(), next.end(), step.new_weights.begin());
  return absl::OkStatus();
}

absl::StatusOr<std::vector<SplitScore>> FakeBackend::Evaluate(
    const ScoredWeights& weights,
    const std::vector<absl::Span<const int64_t>>& splits) {
  std::vector<SplitScore> scores;
  for (const absl::Span<const int64_t> split : splits) {
    SplitScore& score = scores.emplace_back();
    score.num_vertices = split.size();
    score.num_correct = static_cast<uint64_t>(weights.values[0]);
    score.loss = weights.keeps_on_device ? 1 : 0;
  }
  return scores;
}

absl::StatusOr<std::vector<EdgeRanking>> FakeBackend::RankEdges(
    const ScoredWeights& /*weights*/, absl::Span<const EdgeView> /*splits*/) {
  return absl::UnimplementedError("the fake predicts no links");
}

PlacedBytes FakeBackend::BytesOfFeatures(const TaskView& task) const {
  return {.device = task.input_nodes.size()};
}

absl::StatusOr<PlacedBytes> FakeBackend::BytesInUse() const {
  return PlacedBytes{.device = 1 << 20};
}

EvaluationBytes FakeBackend::BytesOfEvaluation() {
  return {.own = {.device = 5}, .kept = 6};
}

uint64_t FakeBackend::progress(TrainerThread thread) const {
  return extracted_[static_cast<size_t>(thread)];
}

}  // namespace fgnn
