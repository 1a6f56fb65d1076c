// Plain references of the sampler: the law of
// sampler_service/sampling/sampler.h, as short as it can be said.
#ifndef FGNN_TESTS_REFERENCE_KHOP_REFERENCE_H_
#define FGNN_TESTS_REFERENCE_KHOP_REFERENCE_H_

#include <algorithm>
#include <cstdint>
#include <unordered_map>
#include <vector>

#include "shared/base/permutation.h"
#include "shared/base/philox.h"

namespace fgnn::reference {

// In-neighbours of each vertex.
using AdjacencyLists = std::vector<std::vector<uint32_t>>;

struct KhopJob {
  std::vector<int64_t> train;
  std::vector<int32_t> fanouts;
  uint32_t batch_size = 1;
  uint64_t seed = 1;
};

struct Hop {
  std::vector<uint32_t> indptr;
  std::vector<uint32_t> indices;  // Local ids.
  uint32_t num_sources = 0;
};

struct Batch {
  uint32_t num_seeds = 0;
  std::vector<Hop> hops;
  std::vector<uint32_t> input_nodes;
};

// Places of an adjacency list of length `degree` that v draws.
inline std::vector<uint64_t> DrawPlaces(PhiloxKey key, uint32_t v,
                                        uint64_t degree, int32_t fanout) {
  std::vector<uint64_t> places;
  if (fanout < 0 || degree <= static_cast<uint64_t>(fanout)) {
    for (uint64_t j = 0; j < degree; ++j) places.push_back(j);
    return places;
  }
  for (uint32_t j = 0; j < static_cast<uint32_t>(fanout); ++j) {
    const PhiloxBlock block = Philox4x32({v, j / 2, 0, 0}, key);
    const uint64_t draw =
        block.words[2 * (j % 2)] | uint64_t{block.words[2 * (j % 2) + 1]} << 32;
    const uint64_t last = degree - static_cast<uint64_t>(fanout) + j;
    const uint64_t t = UniformBelow(draw, last + 1);
    const bool repeats = std::count(places.begin(), places.end(), t) > 0;
    places.push_back(repeats ? last : t);
  }
  return places;
}

inline Batch SampleKhop(const AdjacencyLists& graph, const KhopJob& job,
                        uint64_t seq) {
  const uint64_t num_train = job.train.size();
  const uint64_t per_epoch = (num_train + job.batch_size - 1) / job.batch_size;
  const uint64_t epoch = seq / per_epoch;
  const uint64_t batch = seq % per_epoch;
  Batch result;
  std::unordered_map<uint32_t, uint32_t> local_ids;
  const auto local_id = [&](uint32_t v) {
    const auto [at, is_new] =
        local_ids.try_emplace(v, static_cast<uint32_t>(local_ids.size()));
    if (is_new) result.input_nodes.push_back(v);
    return at->second;
  };
  const KeyedPermutation permutation(
      num_train,
      MakePhiloxKey(job.seed, epoch, 0, 0, Purpose::kSeedPermutation));
  for (uint64_t i = batch * job.batch_size;
       i < std::min((batch + 1) * job.batch_size, num_train); ++i) {
    local_id(static_cast<uint32_t>(job.train[permutation(i)]));
    ++result.num_seeds;
  }
  for (uint32_t h = 0; h < job.fanouts.size(); ++h) {
    const PhiloxKey key =
        MakePhiloxKey(job.seed, epoch, batch, h, Purpose::kNeighbors);
    const std::vector<uint32_t> destinations = result.input_nodes;
    Hop hop;
    hop.indptr.push_back(0);
    for (const uint32_t v : destinations) {
      for (const uint64_t place :
           DrawPlaces(key, v, graph[v].size(), job.fanouts[h])) {
        hop.indices.push_back(local_id(graph[v][place]));
      }
      hop.indptr.push_back(static_cast<uint32_t>(hop.indices.size()));
    }
    hop.num_sources = static_cast<uint32_t>(result.input_nodes.size());
    result.hops.push_back(hop);
  }
  return result;
}

}  // namespace fgnn::reference

#endif  // FGNN_TESTS_REFERENCE_KHOP_REFERENCE_H_
