#include "sampler_service/sampling/epoch_seeds.h"

#include "absl/strings/str_cat.h"
#include "sampler_service/sampling/own_seeds.h"
#include "shared/base/philox.h"
#include "shared/base/status.h"

namespace fgnn {

EpochSeeds::EpochSeeds(const SamplerInput& input, const SamplerOptions& options)
    : train_(input.train),
      own_seeds_(input.own_seeds),
      edges_(input.train_edges),
      num_nodes_(input.graph.num_nodes()),
      places_(input.graph.places),
      options_(options),
      num_examples_(NumExamples(input, options)),
      batches_per_epoch_(BatchesPerEpoch(input, options)) {}

EpochSeeds::Pass EpochSeeds::PassOf(uint64_t batch) const {
  if (own_seeds_ == nullptr) {
    return {.first = batch * options_.batch_size,
            .num_examples = num_examples_};
  }
  const ShareBatch own = own_seeds_->ShareBatchOf(batch);
  const absl::Span<const uint32_t> rows = own_seeds_->RowsOf(own.share);
  const uint64_t batches =
      std::max<uint64_t>(BatchesPerEpoch(rows.size(), options_.batch_size), 1);
  return {.share = own.share,
          .number = own.number / batches,
          .first = own.number % batches * options_.batch_size,
          .num_examples = rows.size(),
          .rows = rows};
}

absl::Status EpochSeeds::DrawVertices(const KeyedPermutation& permutation,
                                      const Pass& pass, uint64_t count,
                                      GlobalId* seeds) const {
  // All places are computed first: the processor does not reach the next read
  // while it computes a permutation.
  for (uint64_t i = 0; i < count; ++i) {
    uint64_t train_place = PlaceOfExample(permutation, pass.first + i);
    if (!pass.rows.empty()) train_place = pass.rows[train_place];
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
    const uint64_t row =
        PlaceOfExample(permutation, place.batch * options_.batch_size + i);
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
  const Pass pass = PassOf(place.batch);
  if (pass.num_examples == 0) return DrawnSeeds{};
  const KeyedPermutation permutation(
      pass.num_examples,
      MakePhiloxKey(options_.seed, place.epoch, /*batch=*/pass.number,
                    /*hop=*/pass.share, Purpose::kSeedPermutation));
  const uint64_t count =
      std::min<uint64_t>(options_.batch_size, pass.num_examples - pass.first);
  FGNN_RETURN_IF_ERROR(are_pairs()
                           ? DrawPairs(permutation, place, count, ids)
                           : DrawVertices(permutation, pass, count, ids));
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
