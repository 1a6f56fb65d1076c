#include "trainer_service/daemon/evaluate_splits.h"

#include <cstddef>

#include "absl/strings/str_cat.h"
#include "shared/base/clock.h"
#include "shared/base/status.h"
#include "trainer_service/daemon/diverged.h"

namespace fgnn {
namespace {

absl::Status UnknownSplit(const std::string& name) {
  return absl::InvalidArgumentError(absl::StrCat(
      "split '", name, "' is not known; there are train, valid and test"));
}

absl::StatusOr<EdgeView> EdgesOf(const Dataset& dataset,
                                 const std::string& name) {
  if (name == "train") return dataset.train_edges();
  if (name == "valid") return dataset.valid_edges();
  if (name == "test") return dataset.test_edges();
  return UnknownSplit(name);
}

absl::StatusOr<absl::Span<const int64_t>> VerticesOf(const Dataset& dataset,
                                                     const std::string& name) {
  if (name == "train") return dataset.train();
  if (name == "valid") return dataset.valid();
  if (name == "test") return dataset.test();
  return UnknownSplit(name);
}

absl::StatusOr<Evaluation> RankSplits(TrainerBackend& backend,
                                      const ScoredWeights& weights,
                                      const std::vector<std::string>& splits) {
  const Stopwatch stopwatch;
  std::vector<EdgeView> edges;
  for (const std::string& name : splits) {
    FGNN_ASSIGN_OR_RETURN(const EdgeView split,
                          EdgesOf(backend.dataset(), name));
    edges.push_back(split);
  }
  FGNN_ASSIGN_OR_RETURN(const std::vector<EdgeRanking> rankings,
                        backend.RankEdges(weights, edges));
  Evaluation evaluation;
  for (size_t i = 0; i < splits.size(); ++i) {
    SplitScore& score = evaluation.scores.emplace_back();
    score.split = splits[i];
    score.num_vertices = rankings[i].num_edges;
    score.scores = {.roc_auc = rankings[i].roc_auc,
                    .mrr = rankings[i].mrr,
                    .mean_rank = rankings[i].mean_rank};
    FGNN_RETURN_IF_ERROR(CheckScores(score, Objective::kLinks));
  }
  evaluation.seconds = stopwatch.Seconds();
  return evaluation;
}

}  // namespace

absl::StatusOr<Evaluation> EvaluateSplits(
    TrainerBackend& backend, const ScoredWeights& weights,
    const std::vector<std::string>& splits) {
  if (backend.model_options().predicts_links()) {
    return RankSplits(backend, weights, splits);
  }
  const Stopwatch stopwatch;
  std::vector<absl::Span<const int64_t>> vertices;
  for (const std::string& name : splits) {
    FGNN_ASSIGN_OR_RETURN(const absl::Span<const int64_t> split,
                          VerticesOf(backend.dataset(), name));
    vertices.push_back(split);
  }
  Evaluation evaluation;
  FGNN_ASSIGN_OR_RETURN(evaluation.scores, backend.Evaluate(weights, vertices));
  for (size_t i = 0; i < splits.size(); ++i) {
    evaluation.scores[i].split = splits[i];
    FGNN_RETURN_IF_ERROR(
        CheckScores(evaluation.scores[i], backend.model_options().objective));
  }
  evaluation.seconds = stopwatch.Seconds();
  return evaluation;
}

}  // namespace fgnn
