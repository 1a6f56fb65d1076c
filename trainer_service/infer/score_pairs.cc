#include "trainer_service/infer/score_pairs.h"

#include <algorithm>
#include <cmath>
#include <cstddef>

#include "shared/base/status.h"
#include "trainer_service/infer/embedding_rows.h"

namespace fgnn {

absl::StatusOr<std::vector<float>> ScorePairs(
    const InferenceInput& input, absl::Span<const GlobalId> pairs) {
  std::vector<GlobalId> vertices(pairs.begin(), pairs.end());
  std::sort(vertices.begin(), vertices.end());
  vertices.erase(std::unique(vertices.begin(), vertices.end()), vertices.end());
  const size_t num_pairs = pairs.size() / 2;
  FGNN_ASSIGN_OR_RETURN(
      const EmbeddingRows rows,
      EmbeddingRows::Infer(input, vertices, num_pairs * sizeof(float)));
  const auto place_of = [&vertices](GlobalId v) {
    return static_cast<size_t>(
        std::lower_bound(vertices.begin(), vertices.end(), v) -
        vertices.begin());
  };
  std::vector<float> scores;
  scores.reserve(num_pairs);
  for (size_t i = 0; i < num_pairs; ++i) {
    scores.push_back(
        rows.Score(place_of(pairs[2 * i]), place_of(pairs[2 * i + 1])));
  }
  return scores;
}

float ProbabilityOfScore(float score) {
  return static_cast<float>(1 / (1 + std::exp(-static_cast<double>(score))));
}

}  // namespace fgnn
