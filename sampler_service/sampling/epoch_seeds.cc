#include "sampler_service/sampling/epoch_seeds.h"

#include "absl/strings/str_cat.h"
#include "shared/base/philox.h"
#include "shared/base/status.h"

namespace fgnn {

EpochSeeds::EpochSeeds(const SamplerInput& input, const SamplerOptions& options)
    : train_(input.train),
      edges_(input.train_edges),
      num_nodes_(input.graph.num_nodes()),
      places_(input.graph.places),
      options_(options),
      num_examples_(NumExamples(input, options)),
      batches_per_epoch_(BatchesPerEpoch(num_examples_, options.batch_size)) {}

absl::Status EpochSeeds::DrawVertices(const KeyedPermutation& permutation,
                                      uint64_t first, uint64_t count,
                                      GlobalId* seeds) const {
  // All places are computed first: the processor does not reach the next read
  // while it computes a permutation.
  for (uint64_t i = 0; i < count; ++i) {
    const uint64_t train_place = permutation(first + i);
    __builtin_prefetch(&train_[train_place]);
    seeds[i] = static_cast<uint32_t>(train_place);
  }
  for (uint64_t i = 0; i < count; ++i) {
    FGNN_ASSIGN_OR_RETURN(seeds[i],
                          ReadSplit(places_, train_, seeds[i], num_nodes_));
  }
  return absl::OkStatus();
}

absl::Status EpochSeeds::DrawPairs(const KeyedPermutation& permutation,
                                   BatchPlace place, uint64_t count,
                                   GlobalId* ends) const {
  const PhiloxKey key = MakePhiloxKey(options_.seed, place.epoch, place.batch,
                                      /*hop=*/0, Purpose::kNegatives);
  GlobalId* negative = ends + 2 * count;
  for (uint64_t i = 0; i < count; ++i) {
    const uint64_t row = permutation(place.batch * options_.batch_size + i);
    FGNN_ASSIGN_OR_RETURN(const Edge edge, edges_.Read(row, num_nodes_));
    ends[2 * i] = static_cast<GlobalId>(edge.source);
    ends[2 * i + 1] = static_cast<GlobalId>(edge.destination);
    PhiloxHalves draws(key, static_cast<uint32_t>(i), /*stream=*/0);
    for (uint32_t j = 0; j < options_.negatives; ++j) {
      *negative++ = ends[2 * i];
      *negative++ =
          static_cast<GlobalId>(UniformBelow(draws.Get(j), num_nodes_));
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<DrawnSeeds> EpochSeeds::Draw(BatchPlace place,
                                            GlobalId* ids) const {
  const KeyedPermutation permutation(
      num_examples_, MakePhiloxKey(options_.seed, place.epoch, /*batch=*/0,
                                   /*hop=*/0, Purpose::kSeedPermutation));
  const uint64_t first = place.batch * options_.batch_size;
  const uint64_t count =
      std::min<uint64_t>(options_.batch_size, num_examples_ - first);
  FGNN_RETURN_IF_ERROR(are_pairs()
                           ? DrawPairs(permutation, place, count, ids)
                           : DrawVertices(permutation, first, count, ids));
  return DrawnSeeds{
      .num_ids = static_cast<uint32_t>(count * ids_per_example()),
      .num_positives = are_pairs() ? static_cast<uint32_t>(count) : 0};
}

absl::Status EpochSeeds::CheckDistinct(BatchPlace place, uint64_t num_ids,
                                       uint64_t num_vertices) const {
  if (are_pairs() || num_vertices == num_ids) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      "train.npy holds a vertex twice: batch ", place.batch, " of epoch ",
      place.epoch + 1, " has ", num_vertices, " vertices for ", num_ids,
      " seeds; remove the repeated ids"));
}

}  // namespace fgnn
