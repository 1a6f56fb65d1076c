// Scores of a model on a split of its dataset.
#ifndef FGNN_SHARED_MEASURED_SCORES_H_
#define FGNN_SHARED_MEASURED_SCORES_H_

#include <cstdint>
#include <optional>
#include <string>

namespace fgnn {

// Scores on a split; nullopt: not known.
struct Scores {
  std::optional<double> accuracy = std::nullopt;
  std::optional<double> macro_f1 = std::nullopt;
  // ROC-AUC with two classes or links.
  std::optional<double> roc_auc = std::nullopt;
  // Scores of link prediction, which has no accuracy and no macro F1.
  std::optional<double> mrr = std::nullopt;
  std::optional<double> mean_rank = std::nullopt;

  // Returns the score by which epochs are compared; higher is better.
  std::optional<double> compared() const {
    return mrr.has_value() ? mrr : accuracy;
  }
};

// A trainer's answer for one split.
struct SplitScore {
  std::string split;  // "train", "valid" or "test".
  // Number of vertices; with link prediction, edges.
  uint64_t num_vertices = 0;
  uint64_t num_correct = 0;
  double loss = 0;  // Mean cross-entropy.
  // Macro F1 over the classes among labels or predictions.
  double macro_f1 = 0;
  // ROC-AUC with two classes or links; nullopt otherwise.
  std::optional<double> roc_auc = std::nullopt;
  // Mean rank of an edge, from 1, and mean of its reciprocal, for link
  // prediction; nullopt otherwise. See RankEdges() of the trainer.
  std::optional<double> mean_rank = std::nullopt;
  std::optional<double> mrr = std::nullopt;

  // Returns the scores of the split. num_vertices is above 0.
  Scores scores() const {
    if (mrr.has_value()) {
      return {.roc_auc = roc_auc, .mrr = mrr, .mean_rank = mean_rank};
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
