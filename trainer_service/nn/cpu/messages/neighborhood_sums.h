// Sums over vertices and their neighbours.
#ifndef FGNN_TRAINER_SERVICE_NN_CPU_MESSAGES_NEIGHBORHOOD_SUMS_H_
#define FGNN_TRAINER_SERVICE_NN_CPU_MESSAGES_NEIGHBORHOOD_SUMS_H_

#include <cstdint>

#include "trainer_service/compute/widen.h"
#include "trainer_service/nn/model.h"

namespace fgnn {

// What a vertex makes of its own row and of those of its neighbours:
//   scale (own x_v + sum_{u in N(v)} x_u)
// or, with row scales r and list scales t,
//   r_v^2 x_v + t_v sum_{u in N(v)} r_u x_u
struct NeighborhoodWeights {
  float own = 1;
  bool mean = true;  // Scaled by 1 / (number of neighbours + 1), else by 1.
  const float* row_scales = nullptr;   // One per row of x; null: as above.
  const float* list_scales = nullptr;  // One per list; null: the own rows'.

  // Without row scales.
  float ScaleOf(uint32_t num_neighbors) const {
    return mean ? 1.0F / (static_cast<float>(num_neighbors) + 1.0F) : 1.0F;
  }
};

// out [last - first, columns] = for each list i in [first, last) the sum of its
// own row of x and of the rows that it names (a row named twice counts twice,
// and one that is the own row too, beside it).
void SumNeighborhoods(const NeighborhoodWeights& weights, const RowLists& lists,
                      int64_t first, int64_t last, const float* x,
                      int64_t columns, float* out);
void SumNeighborhoods(const NeighborhoodWeights& weights, const RowLists& lists,
                      int64_t first, int64_t last, const Bfloat16* x,
                      int64_t columns, float* out);

// The same of rows as a store has them, widened on the way: the bits that the
// sums of copies have.
void SumNeighborhoods(const NeighborhoodWeights& weights, const RowLists& lists,
                      int64_t first, int64_t last, const StoredRows& x,
                      int64_t columns, float* out);

}  // namespace fgnn

#endif  // FGNN_TRAINER_SERVICE_NN_CPU_MESSAGES_NEIGHBORHOOD_SUMS_H_
