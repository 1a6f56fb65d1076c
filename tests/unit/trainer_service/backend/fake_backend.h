// A second kind of device, which computes almost nothing. Its gradients are a
// known function of weights and task. It keeps weights in its own memory.
#ifndef FGNN_TESTS_UNIT_TRAINER_SERVICE_BACKEND_FAKE_BACKEND_H_
#define FGNN_TESTS_UNIT_TRAINER_SERVICE_BACKEND_FAKE_BACKEND_H_

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "trainer_service/backend/trainer_backend.h"

namespace fgnn {

inline constexpr uint64_t kFakeParameters = 4;

// Returns number `i` of the gradient for a weight.
inline float FakeGradient(float weight, BatchSeq seq, uint64_t i) {
  return weight + static_cast<float>((seq.value() + 1) * (i + 1));
}

// Returns the weights [kFakeParameters] after a step from `old`: `old` minus
// half of the gradients' mean over all seeds. If `old` is empty, returns the
// first weights 1, 2, 3, 4.
std::vector<float> FakeStep(
    absl::Span<const float> old,
    const std::vector<absl::Span<const float>>& gradients,
    const std::vector<uint32_t>& num_seeds);

class FakeBackend final : public TrainerBackend {
 public:
  static std::unique_ptr<FakeBackend> Open(
      const std::filesystem::path& dataset_folder);

  const Dataset& dataset() const override { return dataset_; }
  const ModelOptions& model_options() const override { return options_; }
  const std::vector<ParameterInfo>& parameters() const override {
    return parameters_;
  }
  GradientOrigin origin() const override { return {}; }
  void ShareTables(HotTableSource /*source*/) override {}
  UniqueFd SharedTable() const override { return UniqueFd(); }
  absl::Status CacheAsPlanned(const TrainerCache& plan) override;
  bool IsCachedAs(const TrainerCache& /*plan*/) const override { return true; }
  void GiveUpMoreThan(const TrainerCache& plan) override;
  std::unique_ptr<TaskFeatures> NewFeatures() const override;
  // Counts all nodes as cached.
  absl::StatusOr<ExtractedRows> Extract(const TaskView& task,
                                        const TaskFeatures* before,
                                        TrainerThread thread,
                                        TaskFeatures* features) override;
  // Internal: the features belong to another task, or the weights to another
  // version.
  absl::StatusOr<BatchResult> Gradient(const VersionedWeights& weights,
                                       const TrainingBatch& task,
                                       TaskFeatures* features,
                                       absl::Span<float> gradient) override;
  absl::Status Step(uint64_t seed, const OptimizerOptions& options,
                    const StepTensors& step) override;
  // Asks once for the place of no gradient.
  void LeaveGradients(DevicePlaceFinder places) override {
    if (places != nullptr) places({});
  }
  // Returns for each split as many right answers as the first weight says. The
  // loss is 1 if it may keep hidden states, else 0.
  absl::StatusOr<std::vector<SplitScore>> Evaluate(
      const ScoredWeights& weights,
      const std::vector<absl::Span<const int64_t>>& splits) override;
  absl::StatusOr<std::vector<EdgeRanking>> RankEdges(
      const ScoredWeights& weights, absl::Span<const EdgeView> splits) override;
  PlacedBytes BytesOfFeatures(const TaskView& task) const override;
  absl::StatusOr<PlacedBytes> BytesInUse() const override;
  EvaluationBytes BytesOfEvaluation() override;
  std::optional<DeviceMemory> MemoryBefore() const override {
    return DeviceMemory{.total_bytes = 100 << 20, .free_bytes = 90 << 20};
  }
  uint64_t progress(TrainerThread thread) const override;

 private:
  explicit FakeBackend(Dataset dataset);

  Dataset dataset_;
  ModelOptions options_;
  std::vector<ParameterInfo> parameters_;
  std::map<uint64_t, std::vector<float>> on_device_;  // Weights by version.
  std::atomic<uint64_t> extracted_[2] = {};           // Extractions by thread.
};

}  // namespace fgnn

#endif  // FGNN_TESTS_UNIT_TRAINER_SERVICE_BACKEND_FAKE_BACKEND_H_
