#include "sampler_service/sampling/cpu/walk_hops.h"

#include <algorithm>
#include <vector>

#include "absl/types/span.h"
#include "sampler_service/sampling/cpu/new_hops.h"
#include "sampler_service/sampling/laws/walk_law.h"
#include "shared/base/read_once.h"
#include "shared/base/status.h"
#include "shared/graph/edge_lists.h"

namespace fgnn {
namespace {

// Number of walks that take a step together, so that as many reads are in
// flight.
constexpr uint32_t kWalksAtOnce = 256;
constexpr GlobalId kNowhere = UINT32_MAX;

template <typename Index>
class WalkHops final : public HopSampler {
 public:
  WalkHops(const HopsOptions& options, absl::Span<const Index> indices)
      : options_(options),
        indptr_(options.input.graph.indptr),
        indices_(indices),
        end_below_(WalkEndLimit(options.walks.restart)),
        destinations_at_once_(
            std::max(kWalksAtOnce / options.walks.num_walks, 1u)) {
    const uint64_t visits =
        uint64_t{options.walks.num_walks} * options.walks.length;
    walks_.resize(uint64_t{destinations_at_once_} * options.walks.num_walks);
    visited_.resize(destinations_at_once_ * visits);
    counts_.reserve(visits);
  }

  absl::StatusOr<uint64_t> Sample(const HopRequest& request,
                                  MakeRoom make_room) override;
  uint64_t workspace_bytes() const override {
    return sizeof(*this) + walks_.capacity() * sizeof(Walk) +
           counts_.capacity() * sizeof(Count) +
           (visited_.capacity() + sources_.capacity() +
            num_sources_.capacity()) *
               sizeof(uint32_t) +
           visits_.capacity() * sizeof(float);
  }

 private:
  struct Walk {
    GlobalId start;
    GlobalId at;  // The walk's vertex; kNowhere: the walk has ended.
    EdgeOffset next;
  };
  struct Count {
    GlobalId vertex;
    uint32_t visits;
  };

  // Walks from `nodes`, at most destinations_at_once_ of them. Fills visited_.
  absl::Status WalkFrom(PhiloxKey key, absl::Span<const GlobalId> nodes);
  // Writes the most visited vertices of `visits` to counts_.
  void CountVisits(absl::Span<const GlobalId> visits, uint32_t fanout);

  HopsOptions options_;
  absl::Span<const EdgeOffset> indptr_;
  absl::Span<const Index> indices_;
  uint64_t end_below_;
  uint32_t destinations_at_once_;
  std::vector<Walk> walks_;
  // [destination of the group, walk, step]: the vertex of the step, or
  // kNowhere.
  std::vector<GlobalId> visited_;
  std::vector<Count> counts_;
  // Edges of the hop so far; the arrays grow with batches.
  std::vector<uint32_t> num_sources_;  // Number of sources of each destination.
  std::vector<GlobalId> sources_;
  std::vector<float> visits_;
};

template <typename Index>
absl::Status WalkHops<Index>::WalkFrom(PhiloxKey key,
                                       absl::Span<const GlobalId> nodes) {
  const uint32_t num_walks = options_.walks.num_walks;
  const uint32_t length = options_.walks.length;
  const uint64_t size = nodes.size() * num_walks;
  const uint64_t num_nodes = indptr_.size() - 1;
  for (uint64_t w = 0; w < size; ++w) {
    const GlobalId v = nodes[w / num_walks];
    walks_[w] = {v, v, 0};
    if (w % num_walks == 0) __builtin_prefetch(&indptr_[v]);
  }
  // The reads of one walk's steps depend on each other; the reads of different
  // walks do not. So all walks take each part of a step before any walk takes
  // the next part.
  for (uint32_t step = 0; step < length; ++step) {
    progress_.Tick();
    for (uint64_t w = 0; w < size; ++w) {
      Walk& walk = walks_[w];
      if (walk.at == kNowhere) continue;
      const EdgeOffset begin = ReadOnce(indptr_[walk.at]);
      const EdgeOffset end = ReadOnce(indptr_[walk.at + uint64_t{1}]);
      if (begin < 0 || end < begin ||
          static_cast<uint64_t>(end) > indices_.size()) {
        return ChangedList(options_.input.graph, walk.at, begin, end);
      }
      const auto number = static_cast<uint32_t>(w % num_walks) * length + step;
      const WalkStep drawn = StepOfWalk(key, walk.start, number);
      if (end == begin || (step > 0 && drawn.die < end_below_)) {
        walk.at = kNowhere;
        continue;
      }
      walk.next = begin + static_cast<EdgeOffset>(UniformBelow(
                              drawn.draw, static_cast<uint64_t>(end - begin)));
      __builtin_prefetch(&indices_[static_cast<size_t>(walk.next)]);
    }
    for (uint64_t w = 0; w < size; ++w) {
      Walk& walk = walks_[w];
      GlobalId& visit = visited_[w * length + step];
      visit = kNowhere;
      if (walk.at == kNowhere) continue;
      const auto place = static_cast<size_t>(walk.next);
      const auto index = static_cast<uint64_t>(ReadOnce(indices_[place]));
      if (index >= num_nodes)
        return ChangedIndex(options_.input.graph, place, index);
      walk.at = static_cast<GlobalId>(index);
      visit = walk.at;
      __builtin_prefetch(&indptr_[walk.at]);
    }
  }
  return absl::OkStatus();
}

template <typename Index>
void WalkHops<Index>::CountVisits(absl::Span<const GlobalId> visits,
                                  uint32_t fanout) {
  counts_.clear();
  for (const GlobalId vertex : visits) {
    if (vertex == kNowhere) continue;
    const auto known =
        std::find_if(counts_.begin(), counts_.end(),
                     [vertex](const Count& c) { return c.vertex == vertex; });
    if (known == counts_.end()) {
      counts_.push_back({vertex, 1});
    } else {
      ++known->visits;
    }
  }
  // An insertion sort: the vertices are few, and it keeps the order of equal
  // ones.
  for (size_t i = 1; i < counts_.size(); ++i) {
    const Count count = counts_[i];
    size_t at = i;
    for (; at > 0 && counts_[at - 1].visits < count.visits; --at) {
      counts_[at] = counts_[at - 1];
    }
    counts_[at] = count;
  }
  if (counts_.size() > fanout) counts_.resize(fanout);
}

template <typename Index>
absl::StatusOr<uint64_t> WalkHops<Index>::Sample(const HopRequest& request,
                                                 MakeRoom make_room) {
  const absl::Span<const GlobalId> nodes = request.nodes.subspan(request.first);
  const auto fanout = static_cast<uint32_t>(request.fanout);
  const uint64_t visits_per_node =
      uint64_t{options_.walks.num_walks} * options_.walks.length;
  num_sources_.clear();
  sources_.clear();
  visits_.clear();
  for (uint64_t first = 0; first < nodes.size();
       first += destinations_at_once_) {
    const auto group = nodes.subspan(first, destinations_at_once_);
    FGNN_RETURN_IF_ERROR(WalkFrom(request.key, group));
    for (size_t i = 0; i < group.size(); ++i) {
      CountVisits({visited_.data() + i * visits_per_node, visits_per_node},
                  fanout);
      num_sources_.push_back(static_cast<uint32_t>(counts_.size()));
      for (const Count& count : counts_) {
        sources_.push_back(count.vertex);
        visits_.push_back(static_cast<float>(count.visits));
      }
    }
  }
  FGNN_ASSIGN_OR_RETURN(const TaskWriter::HopArrays hop,
                        make_room(sources_.size()));
  hop.indptr[0] = 0;
  for (size_t i = 0; i < num_sources_.size(); ++i) {
    hop.indptr[i + 1] = hop.indptr[i] + num_sources_[i];
  }
  std::copy(sources_.begin(), sources_.end(), hop.indices);
  std::copy(visits_.begin(), visits_.end(), hop.weights);
  return sources_.size();
}

}  // namespace

absl::StatusOr<std::unique_ptr<HopSampler>> NewWalkHops(
    const HopsOptions& options) {
  return NewHops<WalkHops>(options);
}

}  // namespace fgnn
