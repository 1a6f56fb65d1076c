// Sums over vertices and their neighbours.
#ifndef FGNN_TRAINER_SERVICE_NN_CPU_MESSAGES_NEIGHBORHOOD_SUMS_H_
#define FGNN_TRAINER_SERVICE_NN_CPU_MESSAGES_NEIGHBORHOOD_SUMS_H_

#include <cstdint>

#include "trainer_service/compute/widen.h"
#include "trainer_service/nn/model.h"

namespace fgnn {

// Weights of the sum of a vertex's own row and those of its neighbours:
//   scale (own x_v + sum_{u in N(v)} x_u)
// or, with row scales r and list scales t,
//   r_v^2 x_v + t_v sum_{u in N(v)} r_u x_u
struct NeighborhoodWeights {
  float own = 1;
  bool mean = true;  // Whether scale is 1 / (number of neighbours + 1), else 1.
  // One per row of x; null: the first formula.
  const float* row_scales = nullptr;
  // One per list; null: those of the own rows.
  const float* list_scales = nullptr;

  // Returns the scale without row scales.
  float ScaleOf(uint32_t num_neighbors) const {
    return mean ? 1.0F / (static_cast<float>(num_neighbors) + 1.0F) : 1.0F;
  }
};

// Sets out [last - first, columns] to a sum for each list in [first, last): its
// own row of x, and the rows that it names. A row named twice counts twice; one
// that is also the own row counts beside it.
void SumNeighborhoods(const NeighborhoodWeights& weights, const RowLists& lists,
                      int64_t first, int64_t last, const float* x,
                      int64_t columns, float* out);
void SumNeighborhoods(const NeighborhoodWeights& weights, const RowLists& lists,
                      int64_t first, int64_t last, const Bfloat16* x,
                      int64_t columns, float* out);

// The same for rows as a store has them, widened on the way. The bits equal
// those of the sums of copies.
void SumNeighborhoods(const NeighborhoodWeights& weights, const RowLists& lists,
                      int64_t first, int64_t last, const StoredRows& x,
                      int64_t columns, float* out);

}  // namespace fgnn

#endif  // FGNN_TRAINER_SERVICE_NN_CPU_MESSAGES_NEIGHBORHOOD_SUMS_H_
