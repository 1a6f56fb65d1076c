// Sums over the neighbours of a block, forwards and backwards.
#ifndef FGNN_TRAINER_SERVICE_NN_CPU_MESSAGES_MESSAGE_PASSING_H_
#define FGNN_TRAINER_SERVICE_NN_CPU_MESSAGES_MESSAGE_PASSING_H_

#include <cstdint>

#include "shared/minibatch/task.h"
#include "trainer_service/compute/aligned_buffer.h"
#include "trainer_service/compute/widen.h"
#include "trainer_service/nn/model.h"

namespace fgnn {

// Of its destinations.
inline RowLists ListsOf(const BlockView& block) {
  return {block.indptr.data(), block.indices.data()};
}

// out [last - first, columns] = for each list i in [first, last) the mean of
// the rows of x that it names (a row named twice counts twice); zero for an
// empty list.
void MeanOfLists(const RowLists& lists, int64_t first, int64_t last,
                 const float* x, int64_t columns, float* out);
void MeanOfLists(const RowLists& lists, int64_t first, int64_t last,
                 const Bfloat16* x, int64_t columns, float* out);

// The same of rows as a store has them, widened on the way: the bits that the
// means of copies have.
void MeanOfLists(const RowLists& lists, int64_t first, int64_t last,
                 const StoredRows& x, int64_t columns, float* out);

// out [last - first, columns] += for each list the sum of scale[j] * x_j over
// the rows j that it names.
void AddScaledSumOfLists(const RowLists& lists, int64_t first, int64_t last,
                         const float* scale, const float* x, int64_t columns,
                         float* out);
void AddScaledSumOfLists(const RowLists& lists, int64_t first, int64_t last,
                         const float* scale, const Bfloat16* x, int64_t columns,
                         float* out);

// A block seen from its sources: for each, the destinations that it is a
// neighbour of, in rising order. What gradients of means are summed over, so
// that no two threads write to one row and the order of a sum is fixed.
class TransposedBlock {
 public:
  // Rebuilds it, on the calling thread. May throw std::bad_alloc.
  void Build(const BlockView& block);
  // The same, and edges().
  void BuildWithEdges(const BlockView& block);

  RowLists lists() const { return {indptr_, indices_}; }
  // [num_edges] The edge of the block that each entry of lists() is.
  const uint32_t* edges() const { return edges_; }
  // [num_destinations] 1 / number of neighbours; 0 where there is none.
  const float* inverse_degrees() const { return inverse_degrees_; }

 private:
  AlignedBuffer indptr_buffer_;
  AlignedBuffer indices_buffer_;
  AlignedBuffer inverse_degrees_buffer_;
  AlignedBuffer edges_buffer_;
  uint32_t* indptr_ = nullptr;
  uint32_t* indices_ = nullptr;
  uint32_t* edges_ = nullptr;
  float* inverse_degrees_ = nullptr;
};

}  // namespace fgnn

#endif  // FGNN_TRAINER_SERVICE_NN_CPU_MESSAGES_MESSAGE_PASSING_H_
