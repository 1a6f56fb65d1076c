// Which micro-batches have the seeds of a batch.
#ifndef FGNN_TOOLS_BENCH_SPLIT_MICRO_BATCHES_H_
#define FGNN_TOOLS_BENCH_SPLIT_MICRO_BATCHES_H_

#include <algorithm>
#include <cstdint>

#include "sampler_service/sampling/sampler.h"
#include "shared/base/types.h"
#include "shared/minibatch/batches_per_epoch.h"

namespace fgnn {

// The micro-batches of a job's batches of B seeds are those of a job with
// batches of B / P. P divides B.
class MicroBatches {
 public:
  MicroBatches(const SamplerInput& input, const SamplerOptions& sampling,
               uint32_t num_parts)
      : num_parts_(num_parts), options_(sampling) {
    options_.batch_size /= num_parts;
    per_epoch_ =
        BatchesPerEpoch(NumExamples(input, sampling), sampling.batch_size);
    micro_per_epoch_ =
        BatchesPerEpoch(NumExamples(input, options_), options_.batch_size);
  }
  const SamplerOptions& options() const { return options_; }

  // Returns the micro-batches of a batch. The last batch of an epoch may have
  // fewer than P.
  BatchRange Of(BatchSeq seq) const {
    const BatchPlace place = PlaceInEpoch(seq, per_epoch_);
    const uint64_t epoch = place.epoch * micro_per_epoch_;
    const uint64_t first = place.batch * num_parts_;
    return {BatchSeq(epoch + first),
            BatchSeq(epoch + std::min(first + num_parts_, micro_per_epoch_))};
  }

 private:
  uint32_t num_parts_;
  SamplerOptions options_;
  uint64_t per_epoch_;
  uint64_t micro_per_epoch_;
};

}  // namespace fgnn

#endif  // FGNN_TOOLS_BENCH_SPLIT_MICRO_BATCHES_H_
