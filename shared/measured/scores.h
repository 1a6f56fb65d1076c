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
  // Mean F1 of the classes.
  std::optional<double> macro_f1 = std::nullopt;
  // ROC-AUC with two classes or links.
  std::optional<double> roc_auc = std::nullopt;
  // Scores of link prediction, which has no accuracy and no macro F1.
  std::optional<double> mrr = std::nullopt;
  std::optional<double> mean_rank = std::nullopt;
  // Scores of node regression: root of the mean squared error, mean absolute
  // error, and coefficient of determination, each as the mean over the columns.
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
};

// A trainer's answer for one split.
struct SplitScore {
  std::string split;  // "train", "valid" or "test".
  // Number of vertices; with link prediction, edges.
  uint64_t num_vertices = 0;
  uint64_t num_correct = 0;
  double loss = 0;  // Mean of the loss that is trained.
  // Macro F1 over the classes among labels or predictions. With multi-label
  // classification, over all classes.
  double macro_f1 = 0;
  // ROC-AUC with two classes or links; nullopt otherwise.
  std::optional<double> roc_auc = std::nullopt;
  // Mean rank of an edge, from 1, and mean of its reciprocal, for link
  // prediction; nullopt otherwise. See RankEdges() of the trainer.
  std::optional<double> mean_rank = std::nullopt;
  std::optional<double> mrr = std::nullopt;
  // Scores of node regression; nullopt otherwise. r2 is nullopt with fewer than
  // two vertices, too.
  std::optional<double> rmse = std::nullopt;
  std::optional<double> mae = std::nullopt;
  std::optional<double> r2 = std::nullopt;
  // Micro F1 of multi-label classification; nullopt otherwise.
  std::optional<double> micro_f1 = std::nullopt;

  // Returns the scores of the split. num_vertices is above 0.
  Scores scores() const {
    if (mrr.has_value()) {
      return {.roc_auc = roc_auc, .mrr = mrr, .mean_rank = mean_rank};
    }
    if (rmse.has_value()) return {.rmse = rmse, .mae = mae, .r2 = r2};
    if (micro_f1.has_value()) {
      return {.macro_f1 = macro_f1, .micro_f1 = micro_f1};
    }
    return {.accuracy = static_cast<double>(num_correct) /
                        static_cast<double>(num_vertices),
            .macro_f1 = macro_f1,
            .roc_auc = roc_auc};
  }

  friend bool operator==(const SplitScore&, const SplitScore&) = default;
};

}  // namespace fgnn

#endif  // FGNN_SHARED_MEASURED_SCORES_H_
