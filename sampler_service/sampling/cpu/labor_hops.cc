#include "sampler_service/sampling/cpu/labor_hops.h"

#include <algorithm>
#include <array>
#include <type_traits>
#include <vector>

#include "absl/types/span.h"
#include "sampler_service/sampling/cpu/adjacency_lists.h"
#include "sampler_service/sampling/cpu/new_hops.h"
#include "sampler_service/sampling/laws/labor_law.h"
#include "shared/base/read_once.h"
#include "shared/base/status.h"
#include "shared/graph/edge_lists.h"

namespace fgnn {
namespace {

// Number of neighbours whose dice are compared in one call.
constexpr uint64_t kBlock = 2048;
// Bytes of the next list that are fetched while this list is read.
constexpr uint64_t kPrefetchedBytes = 512;

template <typename Index>
class LaborHops final : public HopSampler {
 public:
  LaborHops(const HopsOptions& options, absl::Span<const Index> indices)
      : options_(options),
        indices_(indices),
        lists_(options.input.graph, options.max_destinations) {}
  bool has_memory() const { return lists_.has_memory(); }

  void StartBatch() override { lists_.StartBatch(); }
  absl::StatusOr<uint64_t> Sample(const HopRequest& request,
                                  MakeRoom make_room) override;
  uint64_t workspace_bytes() const override {
    return lists_.workspace_bytes() + sizeof(*this) +
           (indptr_.capacity() + edges_.capacity()) * sizeof(uint32_t);
  }

 private:
  // Returns `size` neighbours from `begin` on, as 32-bit ids.
  const uint32_t* Ids(EdgeOffset begin, uint64_t size);
  void Append(const uint32_t* ids, uint64_t size);
  void Prefetch(const AdjacencyList& list) const;

  HopsOptions options_;
  absl::Span<const Index> indices_;
  AdjacencyLists lists_;
  std::array<uint32_t, kBlock> narrow_ = {};  // Ids of wide indices.
  std::array<uint32_t, kBlock + kLaneGroup> places_ = {};
  // Edges of the hop so far: their number is known only at the hop's end. The
  // arrays grow with batches.
  std::vector<uint32_t> indptr_;
  std::vector<uint32_t> edges_;
  uint64_t num_edges_ = 0;
  uint64_t largest_ = 0;  // Largest index of this hop; negative ones are huge.
};

template <typename Index>
const uint32_t* LaborHops<Index>::Ids(EdgeOffset begin, uint64_t size) {
  const Index* const ids = indices_.data() + begin;
  if constexpr (std::is_same_v<Index, uint32_t>) {
    return ids;
  } else {
    for (uint64_t i = 0; i < size; ++i) {
      const auto index = static_cast<uint64_t>(ReadOnce(ids[i]));
      largest_ = std::max(largest_, index);
      narrow_[i] = static_cast<uint32_t>(index);
    }
    return narrow_.data();
  }
}

template <typename Index>
void LaborHops<Index>::Append(const uint32_t* ids, uint64_t size) {
  std::copy_n(ids, size, edges_.data() + num_edges_);
  num_edges_ += size;
}

template <typename Index>
void LaborHops<Index>::Prefetch(const AdjacencyList& list) const {
  const auto* const begin =
      reinterpret_cast<const char*>(indices_.data() + list.begin);
  const uint64_t bytes =
      std::min(list.degree * sizeof(Index), kPrefetchedBytes);
  for (uint64_t at = 0; at < bytes; at += 64) __builtin_prefetch(begin + at);
}

template <typename Index>
absl::StatusOr<uint64_t> LaborHops<Index>::Sample(const HopRequest& request,
                                                  MakeRoom make_room) {
  FGNN_RETURN_IF_ERROR(lists_.LookUp(request.nodes, &progress_));
  const uint64_t num_nodes = request.nodes.size();
  const uint64_t num_destinations = num_nodes - request.first;
  const uint64_t fanout =
      request.fanout < 0 ? UINT64_MAX : static_cast<uint64_t>(request.fanout);
  if (indptr_.size() < num_destinations + 1) {
    indptr_.resize(num_destinations + num_destinations / 2 + 1);
  }
  indptr_[0] = 0;
  num_edges_ = 0;
  largest_ = 0;
  for (uint64_t i = request.first; i < num_nodes; ++i) {
    const AdjacencyList& list = lists_[i];
    if (i + 1 < num_nodes) Prefetch(lists_[i + 1]);
    const bool whole = list.degree <= fanout;
    const auto limit = whole ? 0 : LaborLimit(fanout, list.degree);
    for (uint64_t at = 0; at < list.degree; at += kBlock) {
      progress_.Tick();
      const uint64_t size = std::min(list.degree - at, kBlock);
      if (edges_.size() < num_edges_ + size) {
        edges_.resize(2 * (num_edges_ + size));
      }
      const uint32_t* const ids =
          Ids(list.begin + static_cast<EdgeOffset>(at), size);
      if (whole) {
        Append(ids, size);
        continue;
      }
      const uint32_t selected = options_.lanes.select_below(
          request.key, limit, ids, static_cast<uint32_t>(size), places_.data());
      for (uint32_t k = 0; k < selected; ++k) {
        edges_[num_edges_++] = ids[places_[k]];
      }
    }
    if (num_edges_ > UINT32_MAX) break;  // make_room() returns the error.
    indptr_[i - request.first + 1] = static_cast<uint32_t>(num_edges_);
  }
  FGNN_ASSIGN_OR_RETURN(const TaskWriter::HopArrays hop, make_room(num_edges_));
  for (uint64_t e = 0; e < num_edges_; ++e) {
    largest_ = std::max<uint64_t>(largest_, edges_[e]);
  }
  FGNN_RETURN_IF_ERROR(CheckLargestIndex(options_.input.graph, largest_));
  std::copy_n(indptr_.data(), num_destinations + 1, hop.indptr);
  std::copy_n(edges_.data(), num_edges_, hop.indices);
  return num_edges_;
}

}  // namespace

absl::StatusOr<std::unique_ptr<HopSampler>> NewLaborHops(
    const HopsOptions& options) {
  return NewHops<LaborHops>(options);
}

}  // namespace fgnn
