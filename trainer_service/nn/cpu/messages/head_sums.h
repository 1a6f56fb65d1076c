// Products and weighted sums of rows whose columns belong to heads: what
// attention passes along edges, forwards and backwards.
//
// Arrays of entries have a row [H] for each entry of all lists, at the entry's
// place among them; functions touch those of their own lists alone, so that
// several threads may work on lists that do not overlap.
#ifndef FGNN_TRAINER_SERVICE_NN_CPU_MESSAGES_HEAD_SUMS_H_
#define FGNN_TRAINER_SERVICE_NN_CPU_MESSAGES_HEAD_SUMS_H_

#include <cstdint>

#include "trainer_service/compute/widen.h"
#include "trainer_service/nn/cpu/messages/head_kernels.h"
#include "trainer_service/nn/model.h"

namespace fgnn {

// out [rows, H] = of each row of x [rows, H * C] and each head the product with
// `vector` [H * C].
void ProductsOfRows(const HeadShape& shape, const float* vector, const float* x,
                    int64_t rows, float* out);

// out [rows, H * C] += scales [rows, H], head by head, times `row` [H * C], or
// times as many rows x [rows, H * C], added up to one, out [H * C].
void AddScaledRow(const HeadShape& shape, const float* scales, int64_t rows,
                  const float* row, float* out);
void AddSumOfScaledRows(const HeadShape& shape, const float* scales,
                        const float* x, int64_t rows, float* out);
void AddSumOfScaledRows(const HeadShape& shape, const float* scales,
                        const Bfloat16* x, int64_t rows, float* out);

// out [entries, H] = of list i, entry j and each head the product of y_i and
// x_j, [H * C] both.
void ProductsOfEntries(const HeadShape& shape, const RowLists& lists,
                       int64_t first, int64_t last, const float* y,
                       const float* x, float* out);
void ProductsOfEntries(const HeadShape& shape, const RowLists& lists,
                       int64_t first, int64_t last, const Bfloat16* y,
                       const Bfloat16* x, float* out);

// out [last - first, H * C] += for each list the sum over its entries j of
// weights [entries, H], head by head, times x_j [H * C]. The weights of entry e
// are at places[e], or e where `places` is null.
void AddWeightedSums(const HeadShape& shape, const RowLists& lists,
                     const uint32_t* places, int64_t first, int64_t last,
                     const float* weights, const float* x, float* out);
void AddWeightedSums(const HeadShape& shape, const RowLists& lists,
                     const uint32_t* places, int64_t first, int64_t last,
                     const float* weights, const Bfloat16* x, float* out);

// out [last - first, H] = for each list the sum of values [places, H].
void SumsOfPlaces(int64_t heads, const RowLists& lists, const uint32_t* places,
                  int64_t first, int64_t last, const float* values, float* out);

}  // namespace fgnn

#endif  // FGNN_TRAINER_SERVICE_NN_CPU_MESSAGES_HEAD_SUMS_H_
