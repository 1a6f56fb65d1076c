#include "trainer_service/infer/evaluate.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <utility>

#include "absl/strings/str_cat.h"
#include "shared/base/status.h"
#include "trainer_service/compute/scratch.h"
#include "trainer_service/infer/scores.h"

namespace fgnn {
namespace {

// Spans of [vertices]; the vertices of one split follow those of the other.
struct VertexScores {
  std::vector<uint32_t> labels;
  // Written by the thread that infers the vertex.
  absl::Span<uint32_t> predictions;
  absl::Span<float> losses;
  // Logit of class 1 minus that of class 0; empty unless there are two classes.
  absl::Span<float> margins;
};

void Score(const float* logits, int64_t num_classes, size_t i,
           VertexScores& scores) {
  const int64_t best = std::max_element(logits, logits + num_classes) - logits;
  double total = 0;
  for (int64_t c = 0; c < num_classes; ++c) {
    total += std::exp(static_cast<double>(logits[c]) -
                      static_cast<double>(logits[best]));
  }
  const double loss = std::log(total) + static_cast<double>(logits[best]) -
                      static_cast<double>(logits[scores.labels[i]]);
  scores.losses[i] = static_cast<float>(loss);
  scores.predictions[i] = static_cast<uint32_t>(best);
  if (num_classes == 2) scores.margins[i] = logits[1] - logits[0];
}

SplitScore SumUp(const VertexScores& scores, size_t first, size_t size,
                 int64_t num_classes) {
  const auto labels = absl::MakeConstSpan(scores.labels).subspan(first, size);
  const absl::Span<const uint32_t> predictions =
      scores.predictions.subspan(first, size);
  SplitScore sum;
  sum.num_vertices = size;
  for (size_t i = 0; i < size; ++i) {
    sum.num_correct += predictions[i] == labels[i] ? 1 : 0;
    sum.loss += static_cast<double>(scores.losses[first + i]);
  }
  if (size == 0) return sum;
  sum.loss /= static_cast<double>(size);
  sum.scores =
      ScoresOfClasses(labels, predictions, static_cast<uint32_t>(num_classes));
  sum.scores.accuracy =
      static_cast<double>(sum.num_correct) / static_cast<double>(size);
  if (num_classes == 2) {
    sum.scores.roc_auc = RocAuc(labels, scores.margins.subspan(first, size));
  }
  return sum;
}

// The vertices of all splits, and their labels.
struct LabelledVertices {
  std::vector<GlobalId> vertices;
  std::vector<uint32_t> labels;
};

absl::StatusOr<LabelledVertices> ReadLabelled(
    const std::vector<absl::Span<const int64_t>>& splits, const CscView& graph,
    absl::Span<const int64_t> labels, uint32_t num_classes) {
  LabelledVertices read;
  for (const absl::Span<const int64_t> split : splits) {
    for (size_t i = 0; i < split.size(); ++i) {
      FGNN_ASSIGN_OR_RETURN(const GlobalId v, ReadSplit(graph.places, split, i,
                                                        graph.num_nodes()));
      read.vertices.push_back(v);
      FGNN_ASSIGN_OR_RETURN(read.labels.emplace_back(),
                            ReadLabelOf(graph.places, labels, v, num_classes));
    }
  }
  return read;
}

}  // namespace

absl::StatusOr<std::vector<SplitScore>> Evaluate(
    const InferenceInput& input, absl::Span<const int64_t> labels,
    const std::vector<absl::Span<const int64_t>>& splits) {
  const int64_t num_classes = input.model->options().num_classes;
  FGNN_ASSIGN_OR_RETURN(LabelledVertices labelled,
                        ReadLabelled(splits, *input.graph, labels,
                                     input.model->options().num_classes));
  const absl::Span<const GlobalId> vertices = labelled.vertices;
  VertexScores scores;
  scores.labels = std::move(labelled.labels);
  Scratch<uint32_t> own_predictions;
  Scratch<float> own_losses;
  Scratch<float> own_margins;
  const auto reserve = [&]<typename T>(Scratch<T>& own,
                                       absl::Span<T>* array) -> absl::Status {
    FGNN_ASSIGN_OR_RETURN(T* const data,
                          ReserveArray(input.shared, vertices.size(), own));
    *array = {data, vertices.size()};
    return absl::OkStatus();
  };
  FGNN_RETURN_IF_ERROR(reserve(own_predictions, &scores.predictions));
  FGNN_RETURN_IF_ERROR(reserve(own_losses, &scores.losses));
  if (num_classes == 2) {
    FGNN_RETURN_IF_ERROR(reserve(own_margins, &scores.margins));
  }
  FGNN_RETURN_IF_ERROR(InferLogits(
      input, vertices, [&](size_t first, int64_t rows, const float* logits) {
        for (int64_t r = 0; r < rows; ++r) {
          Score(logits + r * num_classes, num_classes,
                first + static_cast<size_t>(r), scores);
        }
      }));
  std::vector<SplitScore> sums;
  size_t first = 0;
  for (const absl::Span<const int64_t> split : splits) {
    sums.push_back(SumUp(scores, first, split.size(), num_classes));
    first += split.size();
  }
  return sums;
}

}  // namespace fgnn
