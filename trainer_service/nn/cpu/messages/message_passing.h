// Sums over the neighbours of a block, forwards and backwards.
#ifndef FGNN_TRAINER_SERVICE_NN_CPU_MESSAGES_MESSAGE_PASSING_H_
#define FGNN_TRAINER_SERVICE_NN_CPU_MESSAGES_MESSAGE_PASSING_H_

#include <cstdint>

#include "shared/minibatch/task.h"
#include "trainer_service/compute/scratch.h"
#include "trainer_service/compute/widen.h"
#include "trainer_service/nn/model.h"

namespace fgnn {

// Returns the lists of a block's destinations.
inline RowLists ListsOf(const BlockView& block) {
  return {block.indptr.data(), block.indices.data()};
}

// Sets out [last - first, columns] to the mean of the rows of x that list i
// names, for each i in [first, last). A row named twice counts twice. The mean
// is zero for an empty list.
void MeanOfLists(const RowLists& lists, int64_t first, int64_t last,
                 const float* x, int64_t columns, float* out);
void MeanOfLists(const RowLists& lists, int64_t first, int64_t last,
                 const Bfloat16* x, int64_t columns, float* out);

// The same for rows as a store has them, widened on the way. The bits equal
// those of the means of copies.
void MeanOfLists(const RowLists& lists, int64_t first, int64_t last,
                 const StoredRows& x, int64_t columns, float* out);

// Adds to out [last - first, columns] each list's sum of scale[j] * x_j over
// the rows j that it names.
void AddScaledSumOfLists(const RowLists& lists, int64_t first, int64_t last,
                         const float* scale, const float* x, int64_t columns,
                         float* out);
void AddScaledSumOfLists(const RowLists& lists, int64_t first, int64_t last,
                         const float* scale, const Bfloat16* x, int64_t columns,
                         float* out);

// A block seen from its sources: for each source, the destinations that it is a
// neighbour of, in rising order. Gradients of means are summed over it. No two
// threads then write to one row, and the order of a sum is fixed.
class TransposedBlock {
 public:
  // Rebuilds the lists, and edges() if they are wanted, on the calling thread.
  // May throw std::bad_alloc.
  void Build(const BlockView& block, bool with_edges = false);

  RowLists lists() const { return {indptr_.data(), indices_.data()}; }
  // [num_edges] Number of the block's edge for each entry of lists().
  const uint32_t* edges() const { return edges_.data(); }
  // [num_destinations] 1 / number of neighbours; 0 if there are none.
  const float* inverse_degrees() const { return inverse_degrees_.data(); }

 private:
  Scratch<uint32_t> indptr_;
  Scratch<uint32_t> indices_;
  Scratch<uint32_t> edges_;
  Scratch<float> inverse_degrees_;
};

}  // namespace fgnn

#endif  // FGNN_TRAINER_SERVICE_NN_CPU_MESSAGES_MESSAGE_PASSING_H_
