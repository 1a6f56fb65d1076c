// Plain references of the samplers: the rules of
// sampler_service/sampling/sampler.h and cpu/*_hops.h in the shortest form.
#ifndef FGNN_TESTS_REFERENCE_SAMPLING_REFERENCE_H_
#define FGNN_TESTS_REFERENCE_SAMPLING_REFERENCE_H_

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <set>
#include <unordered_map>
#include <utility>
#include <vector>

#include "sampler_service/sampling/alias_tables.h"
#include "sampler_service/sampling/sampler.h"
#include "shared/base/permutation.h"
#include "shared/base/philox.h"
#include "shared/graph/book/seed_shares.h"

namespace fgnn::reference {

// In-neighbours of each vertex.
using AdjacencyLists = std::vector<std::vector<uint32_t>>;

struct Job {
  std::vector<int64_t> train;
  // Only for training.seeds own: the shares, and each train vertex's fine part.
  SeedShares seeds;
  std::vector<uint8_t> parts_of_train;
  std::vector<uint32_t> train_edges;  // [n, 2], only for link prediction.
  SamplerOptions options;
  // Only for kWeighted: the cells and weights of the graph's adjacency lists,
  // one list after the other.
  std::vector<AliasCell> cells;
  std::vector<float> weights;
};

struct Hop {
  std::vector<uint32_t> indptr;
  std::vector<uint32_t> indices;  // Local ids.
  std::vector<float> weights;     // Only for random walks.
  uint32_t num_sources = 0;
};

struct Batch {
  uint32_t num_seeds = 0;
  uint32_t num_positives = 0;
  std::vector<uint32_t> pairs;  // [n, 2], local ids.
  std::vector<Hop> hops;
  std::vector<uint32_t> input_nodes;
};

// A destination's sources, in order, and the weights of their edges.
struct Neighbors {
  std::vector<uint32_t> sources;
  std::vector<float> weights;
};

inline uint64_t Draw(PhiloxKey key, uint32_t v, uint64_t j, uint32_t stream) {
  const PhiloxBlock block =
      Philox4x32({v, static_cast<uint32_t>(j / 2), stream, 0}, key);
  return block.words[2 * (j % 2)] | uint64_t{block.words[2 * (j % 2) + 1]}
                                        << 32;
}

inline bool Has(const std::vector<uint64_t>& places, uint64_t place) {
  return std::count(places.begin(), places.end(), place) > 0;
}

inline std::vector<uint64_t> UniformPlaces(PhiloxKey key, uint32_t v,
                                           uint64_t degree, int32_t fanout,
                                           bool replace) {
  std::vector<uint64_t> places;
  const auto f = static_cast<uint64_t>(fanout);
  if (degree == 0 || fanout < 0 || (!replace && degree <= f)) {
    for (uint64_t j = 0; j < degree; ++j) places.push_back(j);
    return places;
  }
  for (uint64_t j = 0; j < f; ++j) {
    const uint64_t last = replace ? degree - 1 : degree - f + j;
    const uint64_t t = UniformBelow(Draw(key, v, j, 0), last + 1);
    places.push_back(!replace && Has(places, t) ? last : t);
  }
  return places;
}

// Returns the drawn places. `cells` and `weights`: those of v's list.
inline std::vector<uint64_t> WeightedPlaces(PhiloxKey key, uint32_t v,
                                            const AliasCell* cells,
                                            const float* weights,
                                            uint64_t degree, int32_t fanout,
                                            bool replace) {
  std::vector<uint64_t> places;
  const auto f = static_cast<uint64_t>(fanout);
  if (degree == 0 || fanout < 0 || (!replace && degree <= f)) {
    for (uint64_t j = 0; j < degree; ++j) {
      if (weights[j] > 0) places.push_back(j);
    }
    return places;
  }
  for (uint64_t a = 0; a < (replace ? f : 4 * f) && places.size() < f; ++a) {
    const Uint128 product = static_cast<Uint128>(Draw(key, v, a, 0)) * degree;
    const auto hit = static_cast<uint64_t>(product >> 64);
    const bool stays =
        static_cast<uint32_t>(product >> 32) < cells[hit].threshold;
    const uint64_t place = stays ? hit : cells[hit].other;
    if (replace || !Has(places, place)) places.push_back(place);
  }
  std::vector<std::pair<double, uint64_t>> race;
  for (uint64_t i = 0; i < degree; ++i) {
    if (!(weights[i] > 0) || Has(places, i)) continue;
    const double u =
        static_cast<double>((Draw(key, v, i, 1) >> 11) + 1) * 0x1p-53;
    race.emplace_back(-std::log(u) / static_cast<double>(weights[i]), i);
  }
  std::sort(race.begin(), race.end());
  for (const auto& [time, place] : race) {
    if (places.size() < f) places.push_back(place);
  }
  return places;
}

inline std::vector<uint64_t> LaborPlaces(PhiloxKey key,
                                         const std::vector<uint32_t>& list,
                                         int32_t fanout) {
  std::vector<uint64_t> places;
  const auto f = static_cast<uint64_t>(fanout);
  for (uint64_t i = 0; i < list.size(); ++i) {
    const uint32_t die = Philox4x32({list[i], 0, 0, 0}, key).words[0];
    if (fanout < 0 || list.size() <= f || die < (f << 32) / list.size()) {
      places.push_back(i);
    }
  }
  return places;
}

inline Neighbors VisitedByWalks(PhiloxKey key, const AdjacencyLists& graph,
                                uint32_t v, int32_t fanout,
                                const WalkOptions& walks) {
  std::vector<std::pair<uint32_t, uint32_t>> visits;  // Vertex, visits.
  for (uint32_t w = 0; w < walks.num_walks; ++w) {
    uint32_t at = v;
    for (uint32_t s = 0; s < walks.length && !graph[at].empty(); ++s) {
      const PhiloxBlock block =
          Philox4x32({v, w * walks.length + s, 0, 0}, key);
      if (s > 0 &&
          block.words[2] < static_cast<uint64_t>(walks.restart * 0x1p32))
        break;
      const uint64_t draw = uint64_t{block.words[1]} << 32 | block.words[0];
      at = graph[at][UniformBelow(draw, graph[at].size())];
      const auto known =
          std::find_if(visits.begin(), visits.end(),
                       [at](const auto& visit) { return visit.first == at; });
      if (known == visits.end())
        visits.emplace_back(at, 1);
      else
        ++known->second;
    }
  }
  std::stable_sort(visits.begin(), visits.end(),
                   [](auto& a, auto& b) { return a.second > b.second; });
  Neighbors result;
  for (size_t i = 0; i < visits.size() && i < static_cast<size_t>(fanout);
       ++i) {
    result.sources.push_back(visits[i].first);
    result.weights.push_back(static_cast<float>(visits[i].second));
  }
  return result;
}

inline Neighbors NeighborsOf(PhiloxKey key, const AdjacencyLists& graph,
                             const Job& job, uint32_t v, int32_t fanout) {
  const std::vector<uint32_t>& list = graph[v];
  const SamplerOptions& options = job.options;
  std::vector<uint64_t> places;
  switch (options.algorithm) {
    case SamplingAlgorithm::kUniform:
      places = UniformPlaces(key, v, list.size(), fanout, options.replace);
      break;
    case SamplingAlgorithm::kWeighted: {
      size_t first = 0;
      for (uint32_t u = 0; u < v; ++u) first += graph[u].size();
      places = WeightedPlaces(key, v, job.cells.data() + first,
                              job.weights.data() + first, list.size(), fanout,
                              options.replace);
      break;
    }
    case SamplingAlgorithm::kLabor:
      places = LaborPlaces(key, list, fanout);
      break;
    case SamplingAlgorithm::kRandomWalk:
      return VisitedByWalks(key, graph, v, fanout, options.walks);
    case SamplingAlgorithm::kPlugin:
      break;  // A plugin has its own rule.
  }
  Neighbors result;
  for (const uint64_t place : places) result.sources.push_back(list[place]);
  return result;
}

// A batch of a job with shares of seeds: batch `number` of a pass through the
// train vertices at `rows`.
struct OwnBatch {
  uint32_t share = 0;
  uint64_t pass = 0;
  uint64_t number = 0;
  std::vector<uint64_t> rows;
};

inline std::vector<uint64_t> RowsOf(const Job& job, uint32_t share) {
  std::vector<uint64_t> rows;
  for (uint64_t row = 0; row < job.train.size(); ++row) {
    if (job.seeds.share_of_part[job.parts_of_train[row]] == share) {
      rows.push_back(row);
    }
  }
  return rows;
}

// Deals out the batches of an epoch place by place.
inline std::vector<OwnBatch> OwnBatches(const Job& job) {
  std::vector<OwnBatch> all;
  std::vector<uint64_t> taken(job.seeds.places.size());
  size_t needed = 0;
  for (size_t rest = job.seeds.places.size(); rest > 0;) {
    rest = 0;
    for (uint32_t share = 0; share < taken.size(); ++share) {
      const std::vector<uint64_t> rows = RowsOf(job, share);
      const uint64_t batches =
          (rows.size() + job.options.batch_size - 1) / job.options.batch_size;
      for (uint64_t place = 0; place < job.seeds.places[share]; ++place) {
        OwnBatch batch = {.share = share, .rows = rows};
        batch.pass = rows.empty() ? 0 : taken[share] / batches;
        batch.number = rows.empty() ? 0 : taken[share] % batches;
        all.push_back(batch);
        if (++taken[share] == batches) needed = all.size();
      }
      if (job.seeds.places[share] > 0 && taken[share] < batches) ++rest;
    }
  }
  all.resize(needed);
  return all;
}

inline Batch SampleBatch(const AdjacencyLists& graph, const Job& job,
                         uint64_t seq) {
  const SamplerOptions& options = job.options;
  const bool links = options.negatives > 0;
  uint64_t num_train = links ? job.train_edges.size() / 2 : job.train.size();
  const std::vector<OwnBatch> own_batches =
      job.seeds.are_own() ? OwnBatches(job) : std::vector<OwnBatch>();
  const uint64_t per_epoch =
      job.seeds.are_own()
          ? own_batches.size()
          : (num_train + options.batch_size - 1) / options.batch_size;
  const uint64_t epoch = seq / per_epoch;
  const uint64_t batch = seq % per_epoch;
  OwnBatch own;
  own.number = batch;
  if (job.seeds.are_own()) {
    own = own_batches[batch];
    num_train = own.rows.size();
  }
  Batch result;
  std::unordered_map<uint32_t, uint32_t> local_ids;
  const auto local_id = [&](uint32_t v) {
    const auto [at, is_new] =
        local_ids.try_emplace(v, static_cast<uint32_t>(local_ids.size()));
    if (is_new) result.input_nodes.push_back(v);
    return at->second;
  };
  const KeyedPermutation permutation(
      std::max<uint64_t>(num_train, 1),
      MakePhiloxKey(options.seed, epoch, own.pass, own.share,
                    Purpose::kSeedPermutation));
  std::vector<std::pair<uint32_t, uint32_t>> positives;
  for (uint64_t i = own.number * options.batch_size;
       i < std::min((own.number + 1) * options.batch_size, num_train); ++i) {
    const uint64_t place =
        job.seeds.are_own() ? own.rows[permutation(i)] : permutation(i);
    if (links) {
      positives.emplace_back(job.train_edges[2 * place],
                             job.train_edges[2 * place + 1]);
    } else {
      local_id(static_cast<uint32_t>(job.train[place]));
    }
  }
  // `pairs` holds the edges, then the negatives. `left_out` holds the pairs of
  // vertices that no edge of a hop may join.
  std::vector<std::pair<uint32_t, uint32_t>> pairs = positives;
  const PhiloxKey negatives_key =
      MakePhiloxKey(options.seed, epoch, batch, 0, Purpose::kNegatives);
  std::set<std::pair<uint32_t, uint32_t>> left_out;
  for (size_t i = 0; i < positives.size(); ++i) {
    for (uint32_t j = 0; j < options.negatives; ++j) {
      pairs.emplace_back(
          positives[i].first,
          UniformBelow(Draw(negatives_key, static_cast<uint32_t>(i), j, 0),
                       graph.size()));
    }
    if (!options.exclude_seed_edges) continue;
    left_out.insert(positives[i]);
    left_out.emplace(positives[i].second, positives[i].first);
  }
  for (const auto& pair : pairs) {
    result.pairs.push_back(local_id(pair.first));
    result.pairs.push_back(local_id(pair.second));
  }
  result.num_positives = static_cast<uint32_t>(positives.size());
  result.num_seeds = static_cast<uint32_t>(result.input_nodes.size());
  std::map<uint32_t, Neighbors> kept;  // Used only without resampling.
  for (uint32_t h = 0; h < options.fanouts.size(); ++h) {
    const PhiloxKey key =
        MakePhiloxKey(options.seed, epoch, batch / options.batch_dependency, h,
                      Purpose::kNeighbors);
    const std::vector<uint32_t> destinations = result.input_nodes;
    Hop hop;
    hop.indptr.push_back(0);
    for (const uint32_t v : destinations) {
      if (options.resample || kept.count(v) == 0) {
        const Neighbors drawn =
            NeighborsOf(key, graph, job, v, options.fanouts[h]);
        Neighbors& left = kept[v] = {};
        for (size_t e = 0; e < drawn.sources.size(); ++e) {
          if (left_out.count({drawn.sources[e], v}) > 0) continue;
          left.sources.push_back(drawn.sources[e]);
          if (!drawn.weights.empty()) left.weights.push_back(drawn.weights[e]);
        }
      }
      for (const uint32_t u : kept[v].sources)
        hop.indices.push_back(local_id(u));
      hop.weights.insert(hop.weights.end(), kept[v].weights.begin(),
                         kept[v].weights.end());
      hop.indptr.push_back(static_cast<uint32_t>(hop.indices.size()));
    }
    hop.num_sources = static_cast<uint32_t>(result.input_nodes.size());
    result.hops.push_back(hop);
  }
  return result;
}

}  // namespace fgnn::reference

#endif  // FGNN_TESTS_REFERENCE_SAMPLING_REFERENCE_H_
