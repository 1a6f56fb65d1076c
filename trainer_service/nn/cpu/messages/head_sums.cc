#include "trainer_service/nn/cpu/messages/head_sums.h"

#include <algorithm>

#include "trainer_service/compute/target_clones.h"

namespace fgnn {
namespace {

template <typename Number>
inline __attribute__((always_inline)) void ProductsOfEachRow(
    const HeadShape& shape, const float* vector, const Number* x, int64_t rows,
    float* out) {
  for (int64_t r = 0; r < rows; ++r) {
    HeadProducts(shape, vector, x + r * shape.width(), out + r * shape.heads);
  }
}

template <typename Number>
inline __attribute__((always_inline)) void AddSumOfRows(const HeadShape& shape,
                                                        const float* scales,
                                                        const Number* x,
                                                        int64_t rows,
                                                        float* out) {
  for (int64_t r = 0; r < rows; ++r) {
    AddScaledHeads(shape, scales + r * shape.heads, x + r * shape.width(), out);
  }
}

template <typename Number>
inline __attribute__((always_inline)) void ProductsOfRowPairs(
    const HeadShape& shape, const RowLists& lists, int64_t first, int64_t last,
    const Number* y, const Number* x, float* out) {
  const int64_t width = shape.width();
  const uint32_t end_of_all = lists.indptr[last];
  for (int64_t i = first; i < last; ++i) {
    for (uint32_t e = lists.indptr[i]; e < lists.indptr[i + 1]; ++e) {
      PrefetchEntry(lists, e, end_of_all, x, width);
      HeadProducts(shape, y + i * width, x + lists.indices[e] * width,
                   out + e * shape.heads);
    }
  }
}

template <typename Number>
inline __attribute__((always_inline)) void AddWeightedRows(
    const HeadShape& shape, const RowLists& lists, const uint32_t* places,
    int64_t first, int64_t last, const float* weights, const Number* x,
    float* out) {
  const int64_t width = shape.width();
  const uint32_t end_of_all = lists.indptr[last];
  for (int64_t i = first; i < last; ++i) {
    for (uint32_t e = lists.indptr[i]; e < lists.indptr[i + 1]; ++e) {
      PrefetchEntry(lists, e, end_of_all, x, width);
      const uint32_t place = places == nullptr ? e : places[e];
      AddScaledHeads(shape, weights + place * shape.heads,
                     x + lists.indices[e] * width, out + (i - first) * width);
    }
  }
}

}  // namespace

FGNN_TARGET_CLONES
void ProductsOfRows(const HeadShape& shape, const float* vector, const float* x,
                    int64_t rows, float* out) {
  ProductsOfEachRow(shape, vector, x, rows, out);
}

FGNN_TARGET_CLONES
void ProductsOfRows(const HeadShape& shape, const float* vector,
                    const Bfloat16* x, int64_t rows, float* out) {
  ProductsOfEachRow(shape, vector, x, rows, out);
}

FGNN_TARGET_CLONES
void AddScaledRow(const HeadShape& shape, const float* scales, int64_t rows,
                  const float* row, float* out) {
  for (int64_t r = 0; r < rows; ++r) {
    AddScaledHeads(shape, scales + r * shape.heads, row,
                   out + r * shape.width());
  }
}

FGNN_TARGET_CLONES
void AddSumOfScaledRows(const HeadShape& shape, const float* scales,
                        const float* x, int64_t rows, float* out) {
  AddSumOfRows(shape, scales, x, rows, out);
}

FGNN_TARGET_CLONES
void AddSumOfScaledRows(const HeadShape& shape, const float* scales,
                        const Bfloat16* x, int64_t rows, float* out) {
  AddSumOfRows(shape, scales, x, rows, out);
}

FGNN_TARGET_CLONES
void ProductsOfEntries(const HeadShape& shape, const RowLists& lists,
                       int64_t first, int64_t last, const float* y,
                       const float* x, float* out) {
  ProductsOfRowPairs(shape, lists, first, last, y, x, out);
}

FGNN_TARGET_CLONES
void ProductsOfEntries(const HeadShape& shape, const RowLists& lists,
                       int64_t first, int64_t last, const Bfloat16* y,
                       const Bfloat16* x, float* out) {
  ProductsOfRowPairs(shape, lists, first, last, y, x, out);
}

FGNN_TARGET_CLONES
void AddWeightedSums(const HeadShape& shape, const RowLists& lists,
                     const uint32_t* places, int64_t first, int64_t last,
                     const float* weights, const float* x, float* out) {
  AddWeightedRows(shape, lists, places, first, last, weights, x, out);
}

FGNN_TARGET_CLONES
void AddWeightedSums(const HeadShape& shape, const RowLists& lists,
                     const uint32_t* places, int64_t first, int64_t last,
                     const float* weights, const Bfloat16* x, float* out) {
  AddWeightedRows(shape, lists, places, first, last, weights, x, out);
}

FGNN_TARGET_CLONES
void SumsOfPlaces(int64_t heads, const RowLists& lists, const uint32_t* places,
                  int64_t first, int64_t last, const float* values,
                  float* out) {
  std::fill_n(out, (last - first) * heads, 0.0F);
  for (int64_t i = first; i < last; ++i) {
    float* __restrict to = out + (i - first) * heads;
    for (uint32_t e = lists.indptr[i]; e < lists.indptr[i + 1]; ++e) {
      const float* __restrict from = values + places[e] * heads;
      for (int64_t h = 0; h < heads; ++h) to[h] += from[h];
    }
  }
}

}  // namespace fgnn
