// Sums over vertices and their neighbours.
#ifndef FGNN_TRAINER_SERVICE_NN_CPU_NEIGHBORHOOD_SUMS_H_
#define FGNN_TRAINER_SERVICE_NN_CPU_NEIGHBORHOOD_SUMS_H_

#include <cstdint>

#include "trainer_service/nn/model.h"

namespace fgnn {

// out [last - first, columns] = for each list i in [first, last) the mean of
// its own row of x and of the rows that it names (a row named twice counts
// twice, and one that is the own row too, once more).
void MeanOfNeighborhoods(const RowLists& lists, int64_t first, int64_t last,
                         const float* x, int64_t columns, float* out);

// The same of rows as a store has them, widened on the way: the bits that the
// means of copies have.
void MeanOfNeighborhoods(const RowLists& lists, int64_t first, int64_t last,
                         const StoredRows& x, int64_t columns, float* out);

}  // namespace fgnn

#endif  // FGNN_TRAINER_SERVICE_NN_CPU_NEIGHBORHOOD_SUMS_H_
