#include "trainer_service/backend/cpu/hosted_backend.h"

#include <algorithm>

#include "shared/base/status.h"
#include "shared/device/anonymous_memory.h"
#include "trainer_service/infer/evaluate_targets.h"
#include "trainer_service/sync/optimizer_step.h"

namespace fgnn {

absl::Status HostedBackend::Step(uint64_t seed, const OptimizerOptions& options,
                                 const StepTensors& step) {
  return MakeStep(host_->model(), seed, options, step,
                  host_->team(TrainerThread::kLoop));
}

absl::StatusOr<std::vector<SplitScore>> HostedBackend::Evaluate(
    const ScoredWeights& weights,
    const std::vector<absl::Span<const int64_t>>& splits) {
  const InferenceInput input = host_->ForInference(weights);
  if (model_options().has_targets()) {
    return EvaluateTargets(input, dataset().targets(), splits);
  }
  return fgnn::Evaluate(input, dataset().labels(), splits);
}

absl::StatusOr<std::vector<EdgeRanking>> HostedBackend::RankEdges(
    const ScoredWeights& weights, absl::Span<const EdgeView> splits) {
  return fgnn::RankEdges(host_->ForInference(weights), splits);
}

uint64_t HostedBackend::progress(TrainerThread thread) const {
  return host_->team(thread).tasks_begun() +
         (partitioned() == nullptr ? 0 : partitioned()->progress());
}

absl::StatusOr<PlacedBytes> HostedBackend::BytesInUse() const {
  FGNN_ASSIGN_OR_RETURN(const uint64_t taken, AnonymousMemoryBytes());
  return PlacedBytes{.host = taken + host_->model().gradient_working_bytes()};
}

EvaluationBytes HostedBackend::BytesOfEvaluation() {
  const InferenceInput input = host_->ForInference({});
  EvaluationBytes bytes;
  bytes.shared = InferenceArrayBytes(input);
  bytes.own.host = InferenceBytes(input) - bytes.shared;
  if (model_options().has_targets()) {
    bytes.shared += TargetScoreBytes(
        model_options(),
        std::max(dataset().valid().size(), dataset().test().size()));
  }
  if (model_options().predicts_links()) {
    const uint64_t largest_split =
        std::max(dataset().valid_edges().size(), dataset().test_edges().size());
    bytes.shared += EmbeddingBytes(input);
    bytes.own.host += RankingBytes(input, largest_split);
  }
  return bytes;
}

}  // namespace fgnn
