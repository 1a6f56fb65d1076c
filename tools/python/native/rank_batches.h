// Which batches of a job a rank of a training loop has, and in which order.
#ifndef FGNN_TOOLS_PYTHON_NATIVE_RANK_BATCHES_H_
#define FGNN_TOOLS_PYTHON_NATIVE_RANK_BATCHES_H_

#include <cstdint>

#include "shared/base/types.h"

namespace fgnn {

// W ranks share out the batches of a job, step by step:
//
//   epoch of 7 batches, W = 2      step 0   step 1   step 2   step 3
//   rank 0                            0        2        4        6
//   rank 1                            1        3        5        -
//
// So the list of all batches is the same for any W. `drops_last` leaves out the
// last step of an epoch if a rank has no batch there. A loop that goes on in
// the middle of an epoch, at batch `begin`, deals out the rest from there.
class RankBatches {
 public:
  struct Options {
    uint64_t batches_per_epoch = 1;  // At least 1.
    uint32_t rank = 0;               // Below `world`.
    uint32_t world = 1;              // Number of ranks W, at least 1.
    bool drops_last = true;
  };

  explicit RankBatches(const Options& options, BatchSeq begin = BatchSeq(0))
      : options_(options),
        begin_(begin),
        num_in_first_(CountFrom(begin.value() % options.batches_per_epoch)),
        num_in_epoch_(CountFrom(0)) {}

  // Returns the number of batches that the rank has of the epoch that it begins
  // in, from its begin on.
  uint64_t num_in_first() const { return num_in_first_; }
  // Returns the number of batches that the rank has of a whole epoch.
  uint64_t num_in_epoch() const { return num_in_epoch_; }

  // Returns whether the rank's batch of this index is its first of the epoch
  // that begins with batch `begin`.
  bool BeginsEpoch(BatchSeq begin, uint64_t index) const {
    if (num_in_epoch_ == 0 || index < num_in_first_) return false;
    const uint64_t later = index - num_in_first_;
    return later % num_in_epoch_ == 0 &&
           begin.value() == FirstOfEpoch(1 + later / num_in_epoch_);
  }
  // Returns whether the rank has a batch of this index.
  bool Has(uint64_t index) const {
    return index < num_in_first_ || num_in_epoch_ > 0;
  }
  // Returns the rank's batch of this index, counted from 0. Precondition:
  // Has().
  BatchSeq BatchOf(uint64_t index) const {
    if (index < num_in_first_) return Own(begin_.value(), index);
    const uint64_t later = index - num_in_first_;
    return Own(FirstOfEpoch(1 + later / num_in_epoch_), later % num_in_epoch_);
  }

 private:
  // Returns the first batch of the epoch that is `later` after that of begin_.
  uint64_t FirstOfEpoch(uint64_t later) const {
    const uint64_t batches = options_.batches_per_epoch;
    return (begin_.value() / batches + later) * batches;
  }
  BatchSeq Own(uint64_t begin, uint64_t index) const {
    return BatchSeq(begin + index * options_.world + options_.rank);
  }
  // Returns the rank's batches from a batch of an epoch to the epoch's end.
  uint64_t CountFrom(uint64_t batch) const {
    const uint64_t left = options_.batches_per_epoch - batch;
    if (options_.drops_last) return left / options_.world;
    if (left <= options_.rank) return 0;
    return (left - options_.rank - 1) / options_.world + 1;
  }

  Options options_;
  BatchSeq begin_;
  uint64_t num_in_first_;
  uint64_t num_in_epoch_;
};

}  // namespace fgnn

#endif  // FGNN_TOOLS_PYTHON_NATIVE_RANK_BATCHES_H_
