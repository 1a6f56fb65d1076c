#include "sampler_service/sampling/cpu/hop_sampler.h"

#include <algorithm>
#include <new>

#include "absl/strings/str_cat.h"

namespace fgnn {
namespace {

constexpr uint64_t kPrefetchDistance = 16;
constexpr uint32_t kLineBytes = 64;
// Of a list that is taken whole; the hardware follows the rest.
constexpr uint64_t kMaxPrefetchedLines = 8;

}  // namespace

template <typename Index>
absl::StatusOr<std::unique_ptr<HopSampler<Index>>> HopSampler<Index>::Create(
    const Options& options) {
  std::unique_ptr<HopSampler> sampler(new HopSampler(options));
  if (sampler->lists_ == nullptr || sampler->groups_ == nullptr) {
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
      groups_(new (std::nothrow) std::array<Group, 2>) {}

template <typename Index>
absl::Status HopSampler<Index>::LookUp(absl::Span<const GlobalId> nodes) {
  const EdgeOffset* const indptr = options_.indptr.data();
  const auto num_edges = static_cast<uint64_t>(options_.indices.size());
  const uint64_t size = nodes.size();
  bool falls = false;
  for (uint64_t i = num_known_; i < size; ++i) {
    if (i + kPrefetchDistance < size) {
      __builtin_prefetch(&indptr[nodes[i + kPrefetchDistance]]);
    }
    const EdgeOffset begin = indptr[nodes[i]];
    const EdgeOffset end = indptr[nodes[i] + uint64_t{1}];
    falls |= begin < 0 || end < begin || static_cast<uint64_t>(end) > num_edges;
    lists_[i] = {begin, static_cast<uint64_t>(end - begin)};
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
void HopSampler<Index>::Sort(uint32_t fanout, absl::Span<const GlobalId> nodes,
                             uint64_t first, uint32_t* indptr,
                             Group* group) const {
  const uint64_t last = std::min<uint64_t>(first + kDrawLanes, nodes.size());
  uint32_t num_lanes = 0;
  uint32_t num_whole = 0;
  uint32_t num_large = 0;
  for (uint64_t i = first; i < last; ++i) {
    const AdjacencyList& list = lists_[i];
    const uint32_t out = indptr[i];
    if (list.degree <= fanout) {
      group->whole[num_whole++] = {nodes[i], out, list};
      indptr[i + 1] = out + static_cast<uint32_t>(list.degree);
      continue;
    }
    indptr[i + 1] = out + fanout;
    if (fanout > kMaxLaneFanout || list.degree > UINT32_MAX) {
      group->large[num_large++] = {nodes[i], out, list};
      continue;
    }
    group->draws.global_ids[num_lanes] = nodes[i];
    group->draws.degrees[num_lanes] = static_cast<uint32_t>(list.degree);
    group->lane_begins[num_lanes] = list.begin;
    group->lane_outs[num_lanes] = out;
    ++num_lanes;
  }
  group->num_lanes = num_lanes;
  group->num_whole = num_whole;
  group->num_large = num_large;
}

template <typename Index>
void HopSampler<Index>::Prefetch(uint32_t fanout, const Group& group) const {
  const Index* const indices = options_.indices.data();
  for (uint32_t i = 0; i < group.num_whole; ++i) {
    const AdjacencyList& list = group.whole[i].list;
    constexpr uint64_t kPerLine = kLineBytes / sizeof(Index);
    const uint64_t most =
        std::min<uint64_t>(list.degree, kMaxPrefetchedLines * kPerLine);
    for (uint64_t at = 0; at < most; at += kPerLine) {
      __builtin_prefetch(&indices[list.begin + static_cast<EdgeOffset>(at)]);
    }
  }
  for (uint32_t lane = 0; lane < group.num_lanes; ++lane) {
    const Index* const list = &indices[group.lane_begins[lane]];
    for (uint32_t j = 0; j < fanout; ++j) {
      __builtin_prefetch(&list[group.draws.places[j][lane]]);
    }
  }
}

template <typename Index>
void HopSampler<Index>::Read(PhiloxKey key, uint32_t fanout, const Group& group,
                             uint32_t* out) {
  for (uint32_t i = 0; i < group.num_whole; ++i) {
    const Single& single = group.whole[i];
    const auto count = static_cast<EdgeOffset>(single.list.degree);
    for (EdgeOffset j = 0; j < count; ++j) {
      out[single.out + j] = Take(single.list.begin + j);
    }
  }
  for (uint32_t lane = 0; lane < group.num_lanes; ++lane) {
    uint32_t* const to = out + group.lane_outs[lane];
    for (uint32_t j = 0; j < fanout; ++j) {
      to[j] = Take(group.lane_begins[lane] +
                   EdgeOffset{group.draws.places[j][lane]});
    }
  }
  for (uint32_t i = 0; i < group.num_large; ++i) {
    const Single& single = group.large[i];
    const absl::Span<const uint64_t> places =
        large_draw_.Draw(key, single.v, single.list.degree, fanout);
    for (const uint64_t place : places) {
      __builtin_prefetch(&options_.indices[single.list.begin + place]);
    }
    for (uint32_t j = 0; j < fanout; ++j) {
      out[single.out + j] =
          Take(single.list.begin + static_cast<EdgeOffset>(places[j]));
    }
  }
}

template <typename Index>
absl::Status HopSampler<Index>::Fill(PhiloxKey key, int32_t fanout,
                                     absl::Span<const GlobalId> nodes,
                                     const TaskWriter::HopArrays& hop) {
  const uint32_t most = fanout < 0 ? UINT32_MAX : static_cast<uint32_t>(fanout);
  hop.indptr[0] = 0;
  largest_index_ = 0;
  // While one group's indices come from memory, the next one is drawn.
  Group* drawn = &(*groups_)[0];
  Group* coming = &(*groups_)[1];
  for (uint64_t first = 0; first < nodes.size(); first += kDrawLanes) {
    Sort(most, nodes, first, hop.indptr, drawn);
    if (drawn->num_lanes > 0) {
      options_.draw_lanes(key, most, drawn->num_lanes, &drawn->draws);
    }
    Prefetch(most, *drawn);
    if (first > 0) Read(key, most, *coming, hop.indices);
    std::swap(drawn, coming);
  }
  if (!nodes.empty()) Read(key, most, *coming, hop.indices);
  if (largest_index_ >= options_.indptr.size() - 1) {
    return absl::InvalidArgumentError(
        absl::StrCat("indices.npy holds ", static_cast<int64_t>(largest_index_),
                     "; vertices are in [0, ", options_.indptr.size() - 1,
                     "): validate the dataset again"));
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
