#include "sampler_service/sampling/cpu/hop_sampler.h"

#include <algorithm>
#include <bit>
#include <new>

#include "absl/strings/str_cat.h"

namespace fgnn {
namespace {

// Accesses to memory that are under way at once.
constexpr uint64_t kPrefetchedLists = 32;
constexpr uint32_t kPrefetchedEdges = 128;

// Room for the edges of a group and those before it that are not yet read.
uint32_t RingSize(uint32_t max_fanout) {
  return std::bit_ceil(kDrawLanes * std::min(max_fanout, kMaxLaneFanout) +
                       kPrefetchedEdges);
}

}  // namespace

template <typename Index>
absl::StatusOr<std::unique_ptr<HopSampler<Index>>> HopSampler<Index>::Create(
    const Options& options) {
  std::unique_ptr<HopSampler> sampler(new HopSampler(options));
  if (sampler->lists_ == nullptr || sampler->group_ == nullptr ||
      sampler->ring_ == nullptr) {
    return absl::ResourceExhaustedError(absl::StrCat(
        "no memory for a sampler's workspace of ", sampler->workspace_bytes(),
        " bytes; lower sampling.threads or sampling.batch_size"));
  }
  return sampler;
}

template <typename Index>
HopSampler<Index>::HopSampler(const Options& options)
    : options_(options),
      lists_(new (std::nothrow) AdjacencyList[options.max_destinations]),
      large_draw_(options.max_fanout),
      group_(new (std::nothrow) Group),
      ring_mask_(RingSize(options.max_fanout) - 1) {
  ring_.reset(new (std::nothrow) EdgeOffset[uint64_t{ring_mask_} + 1]);
}

template <typename Index>
absl::Status HopSampler<Index>::LookUp(absl::Span<const GlobalId> nodes) {
  const EdgeOffset* const indptr = options_.indptr.data();
  const auto num_edges = static_cast<uint64_t>(options_.indices.size());
  const uint64_t size = nodes.size();
  bool falls = false;
  for (uint64_t i = num_known_; i < size; ++i) {
    if (i + kPrefetchedLists < size) {
      __builtin_prefetch(&indptr[nodes[i + kPrefetchedLists]]);
    }
    const EdgeOffset begin = indptr[nodes[i]];
    const EdgeOffset end = indptr[nodes[i] + uint64_t{1}];
    falls |= begin < 0 || end < begin || static_cast<uint64_t>(end) > num_edges;
    lists_[i] = {begin, static_cast<uint64_t>(end - begin)};
    if (i % kDrawLanes == 0) Tick();
  }
  num_known_ = size;
  if (falls) {
    return absl::InvalidArgumentError(
        "csc_indptr.npy falls or leaves [0, number of edges]: validate the "
        "dataset again");
  }
  return absl::OkStatus();
}

template <typename Index>
uint64_t HopSampler<Index>::CountEdges(int32_t fanout) const {
  const uint64_t most = fanout < 0 ? UINT64_MAX : static_cast<uint64_t>(fanout);
  uint64_t num_edges = 0;
  for (uint64_t i = 0; i < num_known_; ++i) {
    num_edges += std::min(most, lists_[i].degree);
  }
  return num_edges;
}

template <typename Index>
void HopSampler<Index>::Sort(PhiloxKey key, uint32_t fanout,
                             absl::Span<const GlobalId> nodes, uint64_t first,
                             uint32_t* indptr) {
  Tick();
  const uint64_t last = std::min<uint64_t>(first + kDrawLanes, nodes.size());
  EdgeOffset* const ring = ring_.get();
  uint32_t num_lanes = 0;
  for (uint64_t i = first; i < last; ++i) {
    const AdjacencyList& list = lists_[i];
    const uint32_t out = indptr[i];
    if (list.degree <= fanout) {
      const auto degree = static_cast<uint32_t>(list.degree);
      for (uint32_t j = 0; j < degree; ++j) {
        ring[(out + j) & ring_mask_] = list.begin + EdgeOffset{j};
      }
      indptr[i + 1] = out + degree;
    } else if (list.degree <= UINT32_MAX) {
      group_->draws.global_ids[num_lanes] = nodes[i];
      group_->draws.degrees[num_lanes] = static_cast<uint32_t>(list.degree);
      group_->begins[num_lanes] = list.begin;
      group_->outs[num_lanes] = out;
      indptr[i + 1] = out + fanout;
      ++num_lanes;
    } else {
      uint32_t edge = out;
      for (const uint64_t place :
           large_draw_.Draw(key, nodes[i], list.degree, fanout)) {
        ring[edge++ & ring_mask_] = list.begin + static_cast<EdgeOffset>(place);
      }
      indptr[i + 1] = edge;
    }
  }
  group_->num_lanes = num_lanes;
}

// Reads the edges before `until`, of `known` that are drawn.
template <typename Index>
void HopSampler<Index>::Gather(uint32_t until, uint32_t known, uint32_t* out) {
  const Index* const indices = options_.indices.data();
  const EdgeOffset* const ring = ring_.get();
  uint64_t largest = largest_index_;
  for (uint32_t edge = num_gathered_; edge < until; ++edge) {
    if (edge + kPrefetchedEdges < known) {
      __builtin_prefetch(
          &indices[ring[(edge + kPrefetchedEdges) & ring_mask_]]);
    }
    const auto index = static_cast<uint64_t>(indices[ring[edge & ring_mask_]]);
    largest = index > largest ? index : largest;
    out[edge] = static_cast<uint32_t>(index);
  }
  num_gathered_ = until;
  largest_index_ = largest;
}

template <typename Index>
void HopSampler<Index>::FillSmall(PhiloxKey key, uint32_t fanout,
                                  absl::Span<const GlobalId> nodes,
                                  const TaskWriter::HopArrays& hop) {
  num_gathered_ = 0;
  EdgeOffset* const ring = ring_.get();
  for (uint64_t first = 0; first < nodes.size(); first += kDrawLanes) {
    Sort(key, fanout, nodes, first, hop.indptr);
    const Group& group = *group_;
    if (group.num_lanes > 0) {
      options_.draw_lanes(key, fanout, group.num_lanes, &group_->draws);
    }
    for (uint32_t lane = 0; lane < group.num_lanes; ++lane) {
      for (uint32_t j = 0; j < fanout; ++j) {
        ring[(group.outs[lane] + j) & ring_mask_] =
            group.begins[lane] + EdgeOffset{group.draws.places[j][lane]};
      }
    }
    const uint32_t known =
        hop.indptr[std::min<uint64_t>(first + kDrawLanes, nodes.size())];
    Gather(known - std::min(known, kPrefetchedEdges), known, hop.indices);
  }
  const uint32_t known = hop.indptr[nodes.size()];
  Gather(known, known, hop.indices);
}

template <typename Index>
void HopSampler<Index>::FillLarge(PhiloxKey key, uint64_t fanout,
                                  absl::Span<const GlobalId> nodes,
                                  const TaskWriter::HopArrays& hop) {
  uint64_t largest = 0;
  uint32_t* out = hop.indices;
  const auto take = [&](Index index) {
    largest = std::max(largest, static_cast<uint64_t>(index));
    *out++ = static_cast<uint32_t>(index);
  };
  for (uint64_t i = 0; i < nodes.size(); ++i) {
    Tick();
    const uint64_t degree = lists_[i].degree;
    const Index* const list = options_.indices.data() + lists_[i].begin;
    if (i + 1 < nodes.size()) {
      __builtin_prefetch(options_.indices.data() + lists_[i + 1].begin);
    }
    if (degree <= fanout) {
      for (uint64_t j = 0; j < degree; ++j) take(list[j]);
    } else {
      const absl::Span<const uint64_t> places = large_draw_.Draw(
          key, nodes[i], degree, static_cast<uint32_t>(fanout));
      for (const uint64_t place : places) take(list[place]);
    }
    hop.indptr[i + 1] = static_cast<uint32_t>(out - hop.indices);
  }
  largest_index_ = largest;
}

template <typename Index>
absl::Status HopSampler<Index>::Fill(PhiloxKey key, int32_t fanout,
                                     absl::Span<const GlobalId> nodes,
                                     const TaskWriter::HopArrays& hop) {
  hop.indptr[0] = 0;
  largest_index_ = 0;
  if (fanout < 0) {
    FillLarge(key, UINT64_MAX, nodes, hop);
  } else if (static_cast<uint32_t>(fanout) > kMaxLaneFanout) {
    FillLarge(key, static_cast<uint64_t>(fanout), nodes, hop);
  } else {
    FillSmall(key, static_cast<uint32_t>(fanout), nodes, hop);
  }
  const uint64_t num_nodes = options_.indptr.size() - 1;
  if (largest_index_ >= num_nodes) {
    return absl::InvalidArgumentError(absl::StrCat(
        "indices.npy holds ", static_cast<int64_t>(largest_index_),
        "; vertices are in [0, ", num_nodes, "): validate the dataset again"));
  }
  return absl::OkStatus();
}

template <typename Index>
uint64_t HopSampler<Index>::workspace_bytes() const {
  return options_.max_destinations * sizeof(AdjacencyList) + 2 * sizeof(Group) +
         large_draw_.workspace_bytes();
}

template class HopSampler<uint32_t>;
template class HopSampler<int64_t>;

}  // namespace fgnn
