#include "trainer_service/infer/rank_edges.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>
#include <cstddef>
#include <new>

#include "absl/strings/str_cat.h"
#include "shared/base/philox.h"
#include "shared/base/status.h"
#include "shared/base/threads/first_error.h"
#include "shared/device/memory.h"
#include "trainer_service/compute/dot_product.h"
#include "trainer_service/compute/finite.h"
#include "trainer_service/compute/scratch.h"
#include "trainer_service/infer/predict.h"
#include "trainer_service/infer/scores.h"

namespace fgnn {
namespace {

constexpr int64_t kEdgesPerTask = 256;

// Scores of the edges of a split.
struct EdgeScores {
  // [edges] Twice the ranks, which are integers then.
  std::vector<uint32_t> doubled_ranks;
  // Scores of the edges, then of the first negative of each; and their labels.
  std::vector<float> scores;
  std::vector<uint32_t> labels;
};
constexpr uint64_t kScoreBytesPerEdge =
    sizeof(uint32_t) + 2 * (sizeof(float) + sizeof(uint32_t)) +
    2 * sizeof(uint32_t);  // RocAuc() sorts places.

// What of RankEdges() the inference is, for InferenceInput::permille.
constexpr uint32_t kInferencePermille = 500;

class Ranker {
 public:
  Ranker(const InferenceInput& input, const float* embeddings)
      : input_(input),
        embeddings_(embeddings),
        columns_(static_cast<int64_t>(input.model->options().hidden)),
        num_nodes_(input.graph->num_nodes()) {}

  absl::StatusOr<EdgeRanking> Rank(const EdgeView& edges) const {
    EdgeScores scores;
    scores.doubled_ranks.resize(edges.size());
    scores.scores.resize(2 * edges.size());
    scores.labels.resize(2 * edges.size());
    std::fill_n(scores.labels.begin(), edges.size(), 1U);
    const auto count = static_cast<int64_t>(edges.size());
    const int64_t num_tasks = NumTasks(count, kEdgesPerTask);
    std::atomic<int64_t> tasks_done = 0;
    FirstError stopped;
    FGNN_RETURN_IF_ERROR(input_.team->Run(num_tasks, [&](int64_t task, int) {
      if (input_.check && !stopped.any()) stopped.Note(input_.check());
      const int64_t last = std::min(count, (task + 1) * kEdgesPerTask);
      for (int64_t i = task * kEdgesPerTask; i < last; ++i) {
        if (stopped.any()) return;
        stopped.Note(RankOne(edges, static_cast<uint64_t>(i), scores));
      }
      Note(++tasks_done, num_tasks);
    }));
    FGNN_RETURN_IF_ERROR(stopped.status());
    return SumUp(scores);
  }

 private:
  float Score(uint64_t source, uint64_t destination) const {
    return DotProduct(
        embeddings_ + static_cast<int64_t>(source) * columns_,
        embeddings_ + static_cast<int64_t>(destination) * columns_, columns_);
  }

  // Reports the progress, which begins anew for each of several splits.
  void Note(int64_t tasks_done, int64_t num_tasks) const {
    if (input_.permille == nullptr) return;
    *input_.permille =
        kInferencePermille + static_cast<uint32_t>((1000 - kInferencePermille) *
                                                   tasks_done / num_tasks);
  }

  absl::Status RankOne(const EdgeView& edges, uint64_t place,
                       EdgeScores& scores) const {
    FGNN_ASSIGN_OR_RETURN(const Edge edge, edges.Read(place, num_nodes_));
    std::array<GlobalId, kNegativesOfAnEdge> negatives = {};
    DrawRankedNegatives(place, num_nodes_, negatives.data());
    const float score = Score(edge.source, edge.destination);
    uint32_t doubled_rank = 2;
    bool finite = std::isfinite(score);
    for (const GlobalId negative : negatives) {
      const float other = Score(edge.source, negative);
      finite = finite && std::isfinite(other);
      doubled_rank += (other > score ? 1U : 0U) + (other >= score ? 1U : 0U);
    }
    scores.doubled_ranks[place] = doubled_rank;
    scores.scores[place] = finite ? score : NAN;
    scores.scores[edges.size() + place] = Score(edge.source, negatives[0]);
    return absl::OkStatus();
  }

  static EdgeRanking SumUp(const EdgeScores& scores) {
    EdgeRanking ranking;
    ranking.num_edges = scores.doubled_ranks.size();
    if (ranking.num_edges == 0) return ranking;
    if (!AllFinite(scores.scores)) {
      ranking.mean_rank = ranking.mrr = NAN;
      return ranking;
    }
    uint64_t sum = 0;
    for (const uint32_t doubled_rank : scores.doubled_ranks) {
      sum += doubled_rank;
      ranking.mrr += 2.0 / doubled_rank;
    }
    const auto count = static_cast<double>(ranking.num_edges);
    ranking.mean_rank = static_cast<double>(sum) / 2 / count;
    ranking.mrr /= count;
    ranking.roc_auc = RocAuc(scores.labels, scores.scores);
    return ranking;
  }

  const InferenceInput& input_;
  const float* const embeddings_;  // [N, columns]
  const int64_t columns_;
  const uint64_t num_nodes_;
};

absl::StatusOr<std::vector<EdgeRanking>> RankWithEmbeddings(
    const InferenceInput& input, absl::Span<const EdgeView> splits) {
  const uint64_t num_nodes = input.graph->num_nodes();
  const uint64_t columns = input.model->options().hidden;
  const std::vector<GlobalId> vertices = AllVertices(num_nodes);
  Scratch<float> own;
  FGNN_ASSIGN_OR_RETURN(float* const embeddings,
                        ReserveArray(input.shared, num_nodes * columns, own));
  InferenceInput inference = input;
  inference.last_permille = kInferencePermille;
  FGNN_RETURN_IF_ERROR(
      InferEmbeddings(inference, vertices,
                      [&](size_t first, int64_t rows, const float* values) {
                        std::copy_n(values, static_cast<size_t>(rows) * columns,
                                    embeddings + first * columns);
                      }));
  const Ranker ranker(input, embeddings);
  std::vector<EdgeRanking> rankings;
  for (const EdgeView& split : splits) {
    FGNN_ASSIGN_OR_RETURN(rankings.emplace_back(), ranker.Rank(split));
  }
  return rankings;
}

}  // namespace

void DrawRankedNegatives(uint64_t place, uint64_t num_nodes,
                         GlobalId* negatives) {
  const PhiloxKey key = MakePhiloxKey(/*seed=*/0, /*epoch=*/0, /*batch=*/place,
                                      /*hop=*/0, Purpose::kRankedNegatives);
  PhiloxHalves draws(key, /*v=*/0, /*stream=*/0);
  for (uint32_t j = 0; j < kNegativesOfAnEdge; ++j) {
    negatives[j] = static_cast<GlobalId>(UniformBelow(draws.Get(j), num_nodes));
  }
}

uint64_t EmbeddingBytes(const InferenceInput& input) {
  return input.graph->num_nodes() * input.model->options().hidden *
         sizeof(float);
}

uint64_t RankingBytes(const InferenceInput& input, uint64_t num_edges) {
  return input.graph->num_nodes() * sizeof(GlobalId) +
         num_edges * kScoreBytesPerEdge;
}

absl::StatusOr<std::vector<EdgeRanking>> RankEdges(
    const InferenceInput& input, absl::Span<const EdgeView> splits) {
  uint64_t most_edges = 0;
  for (const EdgeView& split : splits) {
    most_edges = std::max(most_edges, split.size());
  }
  FGNN_RETURN_IF_ERROR(CheckMemory(
      EmbeddingBytes(input) + RankingBytes(input, most_edges),
      absl::StrCat("the embeddings of ", input.graph->num_nodes(),
                   " vertices and scores of ", most_edges, " edges need"),
      "set training.evaluate_every to 0 or use a smaller model.hidden"));
  try {
    return RankWithEmbeddings(input, splits);
  } catch (const std::bad_alloc&) {
    return absl::ResourceExhaustedError(
        "out of memory for the scores of edges; use a smaller model.hidden");
  }
}

}  // namespace fgnn
