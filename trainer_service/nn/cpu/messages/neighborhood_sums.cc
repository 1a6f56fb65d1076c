#include "trainer_service/nn/cpu/messages/neighborhood_sums.h"

#include <cstddef>
#include <type_traits>

#include "trainer_service/compute/gather_rows.h"
#include "trainer_service/compute/target_clones.h"

namespace fgnn {
namespace {

// row_of(i) returns row i, of numbers that Widen() takes.
template <bool kRowScales, typename RowOf>
inline __attribute__((always_inline)) void SumOfRows(
    const NeighborhoodWeights& weights, const RowLists& lists, int64_t first,
    int64_t last, RowOf row_of, int64_t columns, float* out) {
  using Number = std::remove_pointer_t<decltype(row_of(0))>;
  const uint64_t row_bytes = static_cast<uint64_t>(columns) * sizeof(Number);
  const uint32_t end_of_all = lists.indptr[last];
  for (int64_t i = first; i < last; ++i) {
    float* __restrict to = out + (i - first) * columns;
    const uint32_t begin = lists.indptr[i];
    const uint32_t end = lists.indptr[i + 1];
    const uint32_t own_row =
        lists.own == nullptr ? static_cast<uint32_t>(i) : lists.own[i];
    const Number* __restrict own = row_of(own_row);
    float own_weight = weights.own;
    float list_scale = 1;
    if constexpr (kRowScales) {
      const float own_scale = weights.row_scales[own_row];
      own_weight = own_scale * own_scale;
      list_scale =
          weights.list_scales == nullptr ? own_scale : weights.list_scales[i];
    }
    for (int64_t c = 0; c < columns; ++c) to[c] = own_weight * Widen(own[c]);
    for (uint32_t e = begin; e < end; ++e) {
      if (e + kPrefetchRows < end_of_all) {
        PrefetchRow(reinterpret_cast<const std::byte*>(
                        row_of(lists.indices[e + kPrefetchRows])),
                    row_bytes);
      }
      const uint32_t row = lists.indices[e];
      const Number* __restrict from = row_of(row);
      if constexpr (kRowScales) {
        const float scale = list_scale * weights.row_scales[row];
        for (int64_t c = 0; c < columns; ++c) to[c] += scale * Widen(from[c]);
      } else {
        for (int64_t c = 0; c < columns; ++c) to[c] += Widen(from[c]);
      }
    }
    if constexpr (!kRowScales) {
      const float scale = weights.ScaleOf(end - begin);
      if (scale == 1.0F) continue;
      for (int64_t c = 0; c < columns; ++c) to[c] *= scale;
    }
  }
}

template <typename RowOf>
inline __attribute__((always_inline)) void SumNeighborhoodsOf(
    const NeighborhoodWeights& weights, const RowLists& lists, int64_t first,
    int64_t last, RowOf row_of, int64_t columns, float* out) {
  if (weights.row_scales != nullptr) {
    SumOfRows<true>(weights, lists, first, last, row_of, columns, out);
  } else {
    SumOfRows<false>(weights, lists, first, last, row_of, columns, out);
  }
}

template <typename Number>
inline __attribute__((always_inline)) void SumOfStoredRows(
    const NeighborhoodWeights& weights, const RowLists& lists, int64_t first,
    int64_t last, const std::byte* const* rows, int64_t columns, float* out) {
  SumNeighborhoodsOf(
      weights, lists, first, last,
      [rows](uint32_t i) { return reinterpret_cast<const Number*>(rows[i]); },
      columns, out);
}

FGNN_TARGET_CLONES
void SumOfFloat32(const NeighborhoodWeights& weights, const RowLists& lists,
                  int64_t first, int64_t last, const std::byte* const* rows,
                  int64_t columns, float* out) {
  SumOfStoredRows<float>(weights, lists, first, last, rows, columns, out);
}

FGNN_TARGET_CLONES
void SumOfFloat16(const NeighborhoodWeights& weights, const RowLists& lists,
                  int64_t first, int64_t last, const std::byte* const* rows,
                  int64_t columns, float* out) {
  SumOfStoredRows<Float16>(weights, lists, first, last, rows, columns, out);
}

FGNN_TARGET_CLONES
void SumOfBfloat16(const NeighborhoodWeights& weights, const RowLists& lists,
                   int64_t first, int64_t last, const std::byte* const* rows,
                   int64_t columns, float* out) {
  SumOfStoredRows<Bfloat16>(weights, lists, first, last, rows, columns, out);
}

}  // namespace

FGNN_TARGET_CLONES
void SumNeighborhoods(const NeighborhoodWeights& weights, const RowLists& lists,
                      int64_t first, int64_t last, const float* x,
                      int64_t columns, float* out) {
  SumNeighborhoodsOf(
      weights, lists, first, last, [=](uint32_t i) { return x + i * columns; },
      columns, out);
}

FGNN_TARGET_CLONES
void SumNeighborhoods(const NeighborhoodWeights& weights, const RowLists& lists,
                      int64_t first, int64_t last, const Bfloat16* x,
                      int64_t columns, float* out) {
  SumNeighborhoodsOf(
      weights, lists, first, last, [=](uint32_t i) { return x + i * columns; },
      columns, out);
}

void SumNeighborhoods(const NeighborhoodWeights& weights, const RowLists& lists,
                      int64_t first, int64_t last, const StoredRows& x,
                      int64_t columns, float* out) {
  switch (x.type) {
    case FeatureType::kFloat32:
      return SumOfFloat32(weights, lists, first, last, x.rows.data(), columns,
                          out);
    case FeatureType::kFloat16:
      return SumOfFloat16(weights, lists, first, last, x.rows.data(), columns,
                          out);
    case FeatureType::kBfloat16:
      return SumOfBfloat16(weights, lists, first, last, x.rows.data(), columns,
                           out);
  }
}

}  // namespace fgnn
