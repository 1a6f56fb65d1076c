// Hotness from as few pre-sampled epochs as do: counts, drawn towards what
// vertices of their kind are expected to have as long as there are few of them.
#ifndef FGNN_SAMPLER_SERVICE_PRESAMPLE_AUTO_HOTNESS_H_
#define FGNN_SAMPLER_SERVICE_PRESAMPLE_AUTO_HOTNESS_H_

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "sampler_service/presample/hotness.h"

namespace fgnn {

// [N] expected counts of vertices that have counts `counts` [N] after
// `num_batches` batches, and that something else than counting expects to be
// proportional to `prior` [N]: VipHotness(), for one.
//
// Vertices are put into groups, two to an octave of their prior. Within a group
// the chance that a batch has v is taken for a Gamma variable whose mean is the
// group's scale times v's prior, and whose spread is what the group's counts
// have beyond that of num_batches trials; the posterior's mean is returned.
// Where the prior is right the counts hardly matter, where it is wrong they
// alone do. A prior of 0 leaves the count.
std::vector<float> ShrinkCounts(absl::Span<const uint32_t> counts,
                                uint64_t num_batches,
                                absl::Span<const float> prior);

struct AutoHotnessInput {
  // [N] counts of epochs [begin, end) of kPresampleSeed, whoever makes them.
  std::function<absl::StatusOr<std::vector<uint32_t>>(uint32_t begin,
                                                      uint32_t end)>
      count;
  uint64_t batches_per_epoch = 1;
  absl::Span<const uint32_t> out_degrees;  // [N]
  absl::Span<const float> vip = {};        // [N], or empty: a plugin's.
  uint32_t most_epochs = kMostAutoEpochs;  // That are counted, at least 2.
};

struct AutoHotness {
  std::vector<float> hotness;  // [N]
  uint32_t num_epochs = 0;     // That were counted.
  // "counts", "shrunk" (ShrinkCounts() towards vip) or "degree".
  std::string estimator;
  // The share of the hits of perfect knowledge that ranking by half of these
  // epochs is thought to miss, at the capacity where it misses most.
  double loss = 0;
};

// Counts two epochs, and twice as many again and again. Each time the first
// half of them is ranked by every estimator, and the hits of these rankings are
// seen in the second half. What epochs without end would tell lies in the
// middle between what counts promise of the batches that they are of and what
// they keep for others. Ends when the best estimator misses 3 % of that or less
// at every capacity from 5 to 30 % and is not below the degree at any from 1 %
// on, or with most_epochs. Pure, but for `count`, whose errors it returns.
absl::StatusOr<AutoHotness> EstimateHotness(const AutoHotnessInput& input);

}  // namespace fgnn

#endif  // FGNN_SAMPLER_SERVICE_PRESAMPLE_AUTO_HOTNESS_H_
