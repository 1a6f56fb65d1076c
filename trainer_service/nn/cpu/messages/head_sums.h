// Products and weighted sums of rows whose columns belong to heads: what
// attention passes along edges, forwards and backwards.
//
// Arrays of entries have a row [H] for each entry of all lists, at the entry's
// place among them. Functions touch only the rows of their own lists, so that
// several threads may work on lists that do not overlap.
#ifndef FGNN_TRAINER_SERVICE_NN_CPU_MESSAGES_HEAD_SUMS_H_
#define FGNN_TRAINER_SERVICE_NN_CPU_MESSAGES_HEAD_SUMS_H_

#include <cstdint>

#include "trainer_service/compute/widen.h"
#include "trainer_service/nn/cpu/messages/head_kernels.h"
#include "trainer_service/nn/model.h"

namespace fgnn {

// Sets out [rows, H] to the product of each row of x [rows, H * C] and `vector`
// [H * C], head by head.
void ProductsOfRows(const HeadShape& shape, const float* vector, const float* x,
                    int64_t rows, float* out);
void ProductsOfRows(const HeadShape& shape, const float* vector,
                    const Bfloat16* x, int64_t rows, float* out);

// AddScaledRow() adds scales [rows, H], head by head, times `row` [H * C] to
// out [rows, H * C]. The other function multiplies as many rows x [rows, H * C]
// and adds them up to one row, out [H * C].
void AddScaledRow(const HeadShape& shape, const float* scales, int64_t rows,
                  const float* row, float* out);
void AddSumOfScaledRows(const HeadShape& shape, const float* scales,
                        const float* x, int64_t rows, float* out);
void AddSumOfScaledRows(const HeadShape& shape, const float* scales,
                        const Bfloat16* x, int64_t rows, float* out);

// Sets out [entries, H] to the product of y_i and x_j, both [H * C], for each
// head of entry j of list i.
void ProductsOfEntries(const HeadShape& shape, const RowLists& lists,
                       int64_t first, int64_t last, const float* y,
                       const float* x, float* out);
void ProductsOfEntries(const HeadShape& shape, const RowLists& lists,
                       int64_t first, int64_t last, const Bfloat16* y,
                       const Bfloat16* x, float* out);

// Adds a weighted sum to out [last - first, H * C] for each list. The sum is
// over its entries j of weights [entries, H], head by head, times x_j [H * C].
// The weights of entry e are at places[e], or at e if `places` is null.
void AddWeightedSums(const HeadShape& shape, const RowLists& lists,
                     const uint32_t* places, int64_t first, int64_t last,
                     const float* weights, const float* x, float* out);
void AddWeightedSums(const HeadShape& shape, const RowLists& lists,
                     const uint32_t* places, int64_t first, int64_t last,
                     const float* weights, const Bfloat16* x, float* out);

// Sets out [last - first, H] to each list's sum of values [places, H].
void SumsOfPlaces(int64_t heads, const RowLists& lists, const uint32_t* places,
                  int64_t first, int64_t last, const float* values, float* out);

}  // namespace fgnn

#endif  // FGNN_TRAINER_SERVICE_NN_CPU_MESSAGES_HEAD_SUMS_H_
