#include "trainer_service/nn/cpu/messages/neighbor_aggregation.h"

#include <algorithm>
#include <cstddef>

#include "trainer_service/compute/gather_rows.h"
#include "trainer_service/compute/scratch.h"
#include "trainer_service/compute/target_clones.h"
#include "trainer_service/nn/cpu/messages/message_passing.h"

namespace fgnn {
namespace {

// Marks a column whose largest message is 0: it comes from no source.
constexpr uint32_t kNoSource = UINT32_MAX;

template <typename Number>
void PrefetchAhead(const RowLists& lists, uint32_t e, uint32_t end_of_all,
                   const Number* rows, int64_t columns) {
  if (e + kPrefetchRows >= end_of_all) return;
  PrefetchRow(reinterpret_cast<const std::byte*>(
                  rows + lists.indices[e + kPrefetchRows] * columns),
              static_cast<uint64_t>(columns) * sizeof(Number));
}

// Written so that NaN wins and stays: a run that diverges is noticed by it.
bool Beats(float challenger, float largest) {
  return challenger > largest || challenger != challenger;
}

FGNN_TARGET_CLONES
void MaxOfLists(const RowLists& lists, int64_t first, int64_t last,
                const float* x, int64_t columns, float* out) {
  for (int64_t i = first; i < last; ++i) {
    float* __restrict to = out + (i - first) * columns;
    std::fill_n(to, columns, 0.0F);
    for (uint32_t e = lists.indptr[i]; e < lists.indptr[i + 1]; ++e) {
      PrefetchAhead(lists, e, lists.indptr[last], x, columns);
      const float* __restrict from = x + lists.indices[e] * columns;
      for (int64_t c = 0; c < columns; ++c) {
        to[c] = Beats(from[c], to[c]) ? from[c] : to[c];
      }
    }
  }
}

template <typename Number>
inline __attribute__((always_inline)) void MaxAndWinnersOfRows(
    const RowLists& lists, int64_t first, int64_t last, const Number* x,
    int64_t columns, float* out, uint32_t* winners) {
  for (int64_t i = first; i < last; ++i) {
    float* __restrict to = out + (i - first) * columns;
    uint32_t* __restrict winner = winners + (i - first) * columns;
    std::fill_n(to, columns, 0.0F);
    std::fill_n(winner, columns, kNoSource);
    for (uint32_t e = lists.indptr[i]; e < lists.indptr[i + 1]; ++e) {
      PrefetchAhead(lists, e, lists.indptr[last], x, columns);
      const uint32_t source = lists.indices[e];
      const Number* __restrict from = x + source * columns;
      for (int64_t c = 0; c < columns; ++c) {
        const float message = Widen(from[c]);
        const bool wins = Beats(message, to[c]);
        to[c] = wins ? message : to[c];
        winner[c] = wins ? source : winner[c];
      }
    }
  }
}

// winners [last - first, columns] are the sources of the largest messages.
FGNN_TARGET_CLONES
void MaxAndWinnersOfLists(const RowLists& lists, int64_t first, int64_t last,
                          const float* x, int64_t columns, float* out,
                          uint32_t* winners) {
  MaxAndWinnersOfRows(lists, first, last, x, columns, out, winners);
}

FGNN_TARGET_CLONES
void MaxAndWinnersOfLists(const RowLists& lists, int64_t first, int64_t last,
                          const Bfloat16* x, int64_t columns, float* out,
                          uint32_t* winners) {
  MaxAndWinnersOfRows(lists, first, last, x, columns, out, winners);
}

template <typename Number>
inline __attribute__((always_inline)) void SumOfWonRows(
    const RowLists& transposed, int64_t first, int64_t last, const Number* x,
    const uint32_t* winners, int64_t columns, float* out) {
  for (int64_t i = first; i < last; ++i) {
    float* __restrict to = out + (i - first) * columns;
    std::fill_n(to, columns, 0.0F);
    const auto source = static_cast<uint32_t>(i);
    const uint32_t begin = transposed.indptr[i];
    for (uint32_t e = begin; e < transposed.indptr[i + 1]; ++e) {
      PrefetchAhead(transposed, e, transposed.indptr[last], x, columns);
      PrefetchAhead(transposed, e, transposed.indptr[last], winners, columns);
      const uint32_t row = transposed.indices[e];
      // A neighbour that was drawn twice counts once.
      if (e > begin && row == transposed.indices[e - 1]) continue;
      const Number* __restrict from = x + row * columns;
      const uint32_t* __restrict winner = winners + row * columns;
      for (int64_t c = 0; c < columns; ++c) {
        to[c] += winner[c] == source ? Widen(from[c]) : 0.0F;
      }
    }
  }
}

// Sets out [last - first, columns] to each source's sum over what it has won.
// The summed rows of x are those of the destinations that it is a neighbour of.
FGNN_TARGET_CLONES
void SumOfWins(const RowLists& transposed, int64_t first, int64_t last,
               const float* x, const uint32_t* winners, int64_t columns,
               float* out) {
  SumOfWonRows(transposed, first, last, x, winners, columns, out);
}

FGNN_TARGET_CLONES
void SumOfWins(const RowLists& transposed, int64_t first, int64_t last,
               const Bfloat16* x, const uint32_t* winners, int64_t columns,
               float* out) {
  SumOfWonRows(transposed, first, last, x, winners, columns, out);
}

template <typename Number>
inline __attribute__((always_inline)) void ScaledSumOfRows(
    const RowLists& lists, int64_t first, int64_t last,
    const float* edge_scales, const Number* x, int64_t columns, float* out) {
  for (int64_t i = first; i < last; ++i) {
    float* __restrict to = out + (i - first) * columns;
    std::fill_n(to, columns, 0.0F);
    for (uint32_t e = lists.indptr[i]; e < lists.indptr[i + 1]; ++e) {
      PrefetchAhead(lists, e, lists.indptr[last], x, columns);
      const float scale = edge_scales[e];
      const Number* __restrict from = x + lists.indices[e] * columns;
      for (int64_t c = 0; c < columns; ++c) to[c] += scale * Widen(from[c]);
    }
  }
}

// Sets out [last - first, columns] to a sum for each list: the rows that it
// names, each times the scale of the edge that names it.
FGNN_TARGET_CLONES
void ScaledSumOfLists(const RowLists& lists, int64_t first, int64_t last,
                      const float* edge_scales, const float* x, int64_t columns,
                      float* out) {
  ScaledSumOfRows(lists, first, last, edge_scales, x, columns, out);
}

FGNN_TARGET_CLONES
void ScaledSumOfLists(const RowLists& lists, int64_t first, int64_t last,
                      const float* edge_scales, const Bfloat16* x,
                      int64_t columns, float* out) {
  ScaledSumOfRows(lists, first, last, edge_scales, x, columns, out);
}

template <typename Number>
class MaxAggregation final : public NeighborAggregation<Number> {
 public:
  explicit MaxAggregation(int64_t columns) : columns_(columns) {}

  void Start(const BlockView& block) override {
    winners_.Reserve(block.num_destinations * columns_);
  }
  void ForwardRows(const BlockView& block, int64_t first, int64_t last,
                   const Number* messages, float* out) override {
    MaxAndWinnersOfLists(ListsOf(block), first, last, messages, columns_, out,
                         winners_.data() + first * columns_);
  }
  void StartBackward(const BlockView& block) override {
    transposed_.Build(block);
  }
  void BackwardRows(int64_t first, int64_t last,
                    const Number* aggregates_gradient,
                    float* out) const override {
    SumOfWins(transposed_.lists(), first, last, aggregates_gradient,
              winners_.data(), columns_, out);
  }

 private:
  const int64_t columns_;
  Scratch<uint32_t> winners_;  // [D, columns]
  TransposedBlock transposed_;
};

template <typename Number>
class WeightedMeanAggregation final : public NeighborAggregation<Number> {
 public:
  explicit WeightedMeanAggregation(int64_t columns) : columns_(columns) {}

  void Start(const BlockView& block) override {
    scales_.Reserve(block.indices.size());
  }
  void ForwardRows(const BlockView& block, int64_t first, int64_t last,
                   const Number* messages, float* out) override {
    for (int64_t d = first; d < last; ++d) {
      ScaleEdges(block, block.indptr[d], block.indptr[d + 1]);
    }
    ScaledSumOfLists(ListsOf(block), first, last, scales_.data(), messages,
                     columns_, out);
  }
  // Sorts the scales by source too: edges keep their order, as in the
  // transposed lists.
  void StartBackward(const BlockView& block) override {
    transposed_.Build(block);
    uint32_t* const next = next_.Reserve(block.num_sources);
    std::copy_n(transposed_.lists().indptr, block.num_sources, next);
    float* const scales = transposed_scales_.Reserve(block.indices.size());
    for (size_t e = 0; e < block.indices.size(); ++e) {
      scales[next[block.indices[e]]++] = scales_.data()[e];
    }
  }
  void BackwardRows(int64_t first, int64_t last,
                    const Number* aggregates_gradient,
                    float* out) const override {
    ScaledSumOfLists(transposed_.lists(), first, last,
                     transposed_scales_.data(), aggregates_gradient, columns_,
                     out);
  }

 private:
  // Scales the edges in [begin, end), which have one destination.
  void ScaleEdges(const BlockView& block, uint32_t begin, uint32_t end) {
    float* const scales = scales_.data();
    if (block.weights.empty()) {
      std::fill(scales + begin, scales + end,
                1.0F / static_cast<float>(end - begin));
      return;
    }
    float sum = 0;
    for (uint32_t e = begin; e < end; ++e) sum += block.weights[e];
    for (uint32_t e = begin; e < end; ++e) {
      scales[e] = sum > 0 ? block.weights[e] / sum : 0.0F;
    }
  }

  const int64_t columns_;
  Scratch<float> scales_;             // [E], scale of each edge's message.
  Scratch<float> transposed_scales_;  // [E]
  Scratch<uint32_t> next_;            // [S], used within StartBackward().
  TransposedBlock transposed_;
};

}  // namespace

template <typename Number>
std::unique_ptr<NeighborAggregation<Number>> MakeNeighborAggregation(
    Aggregator aggregator, int64_t columns) {
  if (aggregator == Aggregator::kMax) {
    return std::make_unique<MaxAggregation<Number>>(columns);
  }
  return std::make_unique<WeightedMeanAggregation<Number>>(columns);
}

template std::unique_ptr<NeighborAggregation<float>> MakeNeighborAggregation(
    Aggregator, int64_t);
template std::unique_ptr<NeighborAggregation<Bfloat16>> MakeNeighborAggregation(
    Aggregator, int64_t);

void AggregateLists(Aggregator aggregator, const RowLists& lists, int64_t first,
                    int64_t last, const float* messages, int64_t columns,
                    float* out) {
  if (aggregator == Aggregator::kMax) {
    MaxOfLists(lists, first, last, messages, columns, out);
  } else {
    MeanOfLists(lists, first, last, messages, columns, out);
  }
}

}  // namespace fgnn
