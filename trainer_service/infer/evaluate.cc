#include "trainer_service/infer/evaluate.h"

#include <algorithm>
#include <cmath>
#include <cstddef>

#include "absl/strings/str_cat.h"
#include "shared/base/status.h"

namespace fgnn {
namespace {

struct VertexScore {
  float loss = 0;
  bool correct = false;
};

VertexScore ScoreOf(const float* logits, int64_t num_classes, int64_t label) {
  const int64_t best = std::max_element(logits, logits + num_classes) - logits;
  double total = 0;
  for (int64_t c = 0; c < num_classes; ++c) {
    total += std::exp(static_cast<double>(logits[c]) -
                      static_cast<double>(logits[best]));
  }
  const double loss = std::log(total) + static_cast<double>(logits[best]) -
                      static_cast<double>(logits[label]);
  return {static_cast<float>(loss), best == label};
}

absl::StatusOr<std::vector<GlobalId>> LabelledVertices(
    const std::vector<absl::Span<const int64_t>>& splits,
    absl::Span<const int64_t> labels, int64_t num_classes) {
  std::vector<GlobalId> vertices;
  for (const absl::Span<const int64_t> split : splits) {
    for (const int64_t v : split) {
      if (v < 0 || static_cast<uint64_t>(v) >= labels.size()) {
        return absl::InvalidArgumentError(
            absl::StrCat("vertex ", v, " of a split has no label: there are ",
                         labels.size()));
      }
      const int64_t label = labels[static_cast<size_t>(v)];
      if (label < 0 || label >= num_classes) {
        return absl::InvalidArgumentError(
            absl::StrCat("vertex ", v, " has label ", label,
                         "; the model knows [0, ", num_classes, ")"));
      }
      vertices.push_back(static_cast<GlobalId>(v));
    }
  }
  return vertices;
}

}  // namespace

absl::StatusOr<std::vector<SplitAccuracy>> Evaluate(
    const InferenceInput& input, absl::Span<const int64_t> labels,
    const std::vector<absl::Span<const int64_t>>& splits) {
  const int64_t num_classes = input.model->options().num_classes;
  FGNN_ASSIGN_OR_RETURN(const std::vector<GlobalId> vertices,
                        LabelledVertices(splits, labels, num_classes));
  std::vector<VertexScore> scores(vertices.size());
  FGNN_RETURN_IF_ERROR(InferLogits(
      input, vertices, [&](size_t first, int64_t rows, const float* logits) {
        for (int64_t r = 0; r < rows; ++r) {
          const size_t i = first + static_cast<size_t>(r);
          scores[i] = ScoreOf(logits + r * num_classes, num_classes,
                              labels[vertices[i]]);
        }
      }));
  std::vector<SplitAccuracy> sums;
  size_t next = 0;
  for (const absl::Span<const int64_t> split : splits) {
    SplitAccuracy sum;
    sum.num_vertices = split.size();
    for (size_t i = 0; i < split.size(); ++i, ++next) {
      sum.num_correct += scores[next].correct ? 1 : 0;
      sum.loss += static_cast<double>(scores[next].loss);
    }
    if (!split.empty()) sum.loss /= static_cast<double>(split.size());
    sums.push_back(sum);
  }
  return sums;
}

}  // namespace fgnn
