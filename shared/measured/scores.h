// Scores of a model on a split of its dataset.
#ifndef FGNN_SHARED_MEASURED_SCORES_H_
#define FGNN_SHARED_MEASURED_SCORES_H_

#include <cmath>
#include <cstdint>
#include <optional>
#include <string>

namespace fgnn {

// Scores on a split; nullopt: not known.
struct Scores {
  std::optional<double> accuracy = std::nullopt;
  // Mean F1 of the classes among labels or predictions. With multi-label
  // classification: of all classes.
  std::optional<double> macro_f1 = std::nullopt;
  // ROC-AUC with two classes or links.
  std::optional<double> roc_auc = std::nullopt;
  // Mean reciprocal rank of an edge, and its mean rank, from 1, for link
  // prediction. See RankEdges() of the trainer.
  std::optional<double> mrr = std::nullopt;
  std::optional<double> mean_rank = std::nullopt;
  // Scores of node regression: root of the mean squared error, mean absolute
  // error, and coefficient of determination, each as the mean over the columns.
  // r2 is not known with fewer than two vertices.
  std::optional<double> rmse = std::nullopt;
  std::optional<double> mae = std::nullopt;
  std::optional<double> r2 = std::nullopt;
  // F1 over all pairs of vertex and class; multi-label classification has it
  // and the macro F1.
  std::optional<double> micro_f1 = std::nullopt;

  // Returns the score by which epochs are compared; higher is better. It is the
  // negative of an RMSE. nullopt: it is not known, or not finite.
  std::optional<double> compared() const {
    if (mrr.has_value()) return mrr;
    if (micro_f1.has_value()) return micro_f1;
    if (!rmse.has_value()) return accuracy;
    return std::isfinite(*rmse) ? std::optional(-*rmse) : std::nullopt;
  }

  friend bool operator==(const Scores&, const Scores&) = default;
};

// A trainer's answer for one split.
struct SplitScore {
  std::string split;  // "train", "valid" or "test".
  // Number of vertices; with link prediction, edges.
  uint64_t num_vertices = 0;
  uint64_t num_correct = 0;
  double loss = 0;  // Mean of the loss that is trained.
  Scores scores = {};

  friend bool operator==(const SplitScore&, const SplitScore&) = default;
};

}  // namespace fgnn

#endif  // FGNN_SHARED_MEASURED_SCORES_H_
