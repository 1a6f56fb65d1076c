// Aggregates the messages of a vertex's neighbours, forwards and backwards. A
// block has S sources and D destinations; rows have `columns`.
//
// Both directions are sums or choices over lists of rows in a fixed order. One
// thread computes each row of a result, so any number of threads gives the same
// bits.
#ifndef FGNN_TRAINER_SERVICE_NN_CPU_MESSAGES_NEIGHBOR_AGGREGATION_H_
#define FGNN_TRAINER_SERVICE_NN_CPU_MESSAGES_NEIGHBOR_AGGREGATION_H_

#include <cstdint>
#include <memory>

#include "shared/minibatch/task.h"
#include "trainer_service/nn/layer_options.h"
#include "trainer_service/nn/model.h"

namespace fgnn {

// Goes forwards, then backwards, over one block after the other; keeps what the
// backward pass needs. Messages and gradients are float or Bfloat16. Several
// threads may call the functions on rows for parts that do not overlap. May
// throw std::bad_alloc.
template <typename Number>
class NeighborAggregation {
 public:
  virtual ~NeighborAggregation() = default;

  // Prepares ForwardRows() of a block, on one thread.
  virtual void Start(const BlockView& block) = 0;
  // Computes out [last - first, columns] of the destinations in [first, last),
  // from messages [S, columns].
  virtual void ForwardRows(const BlockView& block, int64_t first, int64_t last,
                           const Number* messages, float* out) = 0;

  // Prepares BackwardRows() of the block last started, on one thread.
  virtual void StartBackward(const BlockView& block) = 0;
  // Computes out [last - first, columns], the gradient of the messages of the
  // sources in [first, last), from that of the aggregates [D, columns].
  virtual void BackwardRows(int64_t first, int64_t last,
                            const Number* aggregates_gradient,
                            float* out) const = 0;
};

template <typename Number>
std::unique_ptr<NeighborAggregation<Number>> MakeNeighborAggregation(
    Aggregator aggregator, int64_t columns);

// Inference over lists of whole neighbourhoods. Their edges have no weights, so
// the mean is plain. out [last - first, columns].
void AggregateLists(Aggregator aggregator, const RowLists& lists, int64_t first,
                    int64_t last, const float* messages, int64_t columns,
                    float* out);

}  // namespace fgnn

#endif  // FGNN_TRAINER_SERVICE_NN_CPU_MESSAGES_NEIGHBOR_AGGREGATION_H_
