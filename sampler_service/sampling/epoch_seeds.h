// What every batch of a job begins with, drawn when the sampler asks for it:
// train vertices, or the pairs of link prediction.
#ifndef FGNN_SAMPLER_SERVICE_SAMPLING_EPOCH_SEEDS_H_
#define FGNN_SAMPLER_SERVICE_SAMPLING_EPOCH_SEEDS_H_

#include <algorithm>
#include <cstdint>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "sampler_service/sampling/sampler.h"
#include "shared/base/permutation.h"
#include "shared/base/types.h"
#include "shared/graph/dataset.h"
#include "shared/minibatch/batches_per_epoch.h"

namespace fgnn {

struct DrawnSeeds {
  uint32_t num_ids = 0;
  uint32_t num_positives = 0;  // Training edges of the pairs, P.
};

// The law is in sampler.h. Immutable, so safe to use from any thread. Borrows
// what the input borrows.
class EpochSeeds {
 public:
  // Validate() has passed the input and the options.
  EpochSeeds(const SamplerInput& input, const SamplerOptions& options);

  bool are_pairs() const { return options_.negatives > 0; }
  // Returns the number of examples that no batch exceeds.
  uint64_t most_examples() const {
    return std::min<uint64_t>(options_.batch_size, num_examples_);
  }
  // Returns the number of ids that no batch exceeds.
  uint64_t most_ids() const { return most_examples() * ids_per_example(); }
  BatchPlace PlaceOf(BatchSeq seq) const {
    return PlaceInEpoch(seq, batches_per_epoch_);
  }

  // Writes the global ids of a batch to `ids` [most_ids()]: its train vertices,
  // or the ends of its pairs [P * (1 + negatives), 2], training edges first.
  // InvalidArgument: one is out of range; of a train id, names file and
  // element.
  absl::StatusOr<DrawnSeeds> Draw(BatchPlace place, GlobalId* ids) const;
  // InvalidArgument: the batch's train ids are fewer vertices.
  absl::Status CheckDistinct(BatchPlace place, uint64_t num_ids,
                             uint64_t num_vertices) const;

 private:
  uint64_t ids_per_example() const {
    return are_pairs() ? 2 * (uint64_t{options_.negatives} + 1) : 1;
  }
  // A shuffle of examples, and the place in it where a batch begins.
  struct Pass {
    uint32_t share = 0;
    uint64_t number = 0;  // Number of passes of the share before it.
    uint64_t first = 0;
    uint64_t num_examples = 0;
    // Rows of train.npy that are shuffled; empty: all.
    absl::Span<const uint32_t> rows = {};
  };
  Pass PassOf(uint64_t batch) const;
  // Returns which example is the i-th of a pass.
  uint64_t PlaceOfExample(const KeyedPermutation& permutation,
                          uint64_t i) const {
    return options_.shuffle ? permutation(i) : i;
  }
  absl::Status DrawVertices(const KeyedPermutation& permutation,
                            const Pass& pass, uint64_t count,
                            GlobalId* seeds) const;
  absl::Status DrawPairs(const KeyedPermutation& permutation, BatchPlace place,
                         uint64_t count, GlobalId* ends) const;

  absl::Span<const int64_t> train_;
  const OwnSeeds* own_seeds_;
  EdgeView edges_;
  uint64_t num_nodes_;
  const ArrayPlaces* places_;
  SamplerOptions options_;
  uint64_t num_examples_;
  uint64_t batches_per_epoch_;
};

}  // namespace fgnn

#endif  // FGNN_SAMPLER_SERVICE_SAMPLING_EPOCH_SEEDS_H_
