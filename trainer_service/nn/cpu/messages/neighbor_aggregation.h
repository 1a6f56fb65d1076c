// What a vertex makes of the messages of its neighbours, forwards and
// backwards. S sources and D destinations of a block, rows of `columns`.
//
// Both directions are sums or choices over lists of rows in a fixed order, each
// row of a result being one thread's: the same bits for any number of threads.
#ifndef FGNN_TRAINER_SERVICE_NN_CPU_MESSAGES_NEIGHBOR_AGGREGATION_H_
#define FGNN_TRAINER_SERVICE_NN_CPU_MESSAGES_NEIGHBOR_AGGREGATION_H_

#include <cstdint>
#include <memory>

#include "shared/minibatch/task.h"
#include "trainer_service/nn/model.h"

namespace fgnn {

enum class Aggregator : uint8_t {
  // The largest of each column; 0 without neighbours. Messages are not
  // negative. Of equals the first edge's; the gradient goes to its source
  // alone, and to none where the largest is 0.
  kMax,
  // Their mean, weighted by the weights of the block's edges (numbers of
  // visits, after random walks), else plain; 0 without neighbours, or where
  // the weights do not add up to more than 0. Weights are not negative.
  kWeightedMean,
};

// Forwards, then backwards, over one block after the other; keeps what the
// backward pass needs. Messages and gradients are float or Bfloat16. What is
// done by rows may be done by several threads for parts that do not overlap.
// May throw std::bad_alloc.
template <typename Number>
class NeighborAggregation {
 public:
  virtual ~NeighborAggregation() = default;

  // What comes before ForwardRows() of a block, on one thread.
  virtual void Start(const BlockView& block) = 0;
  // out [last - first, columns] of the destinations in [first, last), of
  // messages [S, columns].
  virtual void ForwardRows(const BlockView& block, int64_t first, int64_t last,
                           const Number* messages, float* out) = 0;

  // What comes before BackwardRows() of the block last started, on one thread.
  virtual void StartBackward(const BlockView& block) = 0;
  // out [last - first, columns]: the gradient of the messages of the sources in
  // [first, last), of that of the aggregates [D, columns].
  virtual void BackwardRows(int64_t first, int64_t last,
                            const Number* aggregates_gradient,
                            float* out) const = 0;
};

template <typename Number>
std::unique_ptr<NeighborAggregation<Number>> MakeNeighborAggregation(
    Aggregator aggregator, int64_t columns);

// Inference, over lists of whole neighbourhoods, whose edges have no weights:
// the mean is plain. out [last - first, columns].
void AggregateLists(Aggregator aggregator, const RowLists& lists, int64_t first,
                    int64_t last, const float* messages, int64_t columns,
                    float* out);

}  // namespace fgnn

#endif  // FGNN_TRAINER_SERVICE_NN_CPU_MESSAGES_NEIGHBOR_AGGREGATION_H_
