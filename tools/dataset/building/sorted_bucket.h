// Sorts the edges of one bucket in memory into adjacency lists. Private to
// csc_builder.cc.
#ifndef FGNN_TOOLS_DATASET_BUILDING_SORTED_BUCKET_H_
#define FGNN_TOOLS_DATASET_BUILDING_SORTED_BUCKET_H_

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "shared/base/types.h"
#include "tools/dataset/building/edge_spill.h"

namespace fgnn {

inline PlainEdge Reversed(PlainEdge e) { return {e.destination, e.source}; }
inline WeightedEdge Reversed(WeightedEdge e) {
  return {e.destination, e.source, e.weight};
}

// Returns the value that is sorted in place of an edge once its destination is
// known.
inline uint32_t ValueOf(PlainEdge e) { return e.source; }
inline uint64_t ValueOf(WeightedEdge e) {
  uint32_t bits = 0;
  std::memcpy(&bits, &e.weight, sizeof(bits));
  return (uint64_t{e.source} << 32) | bits;
}
inline GlobalId SourceOf(uint32_t value) { return value; }
inline GlobalId SourceOf(uint64_t value) {
  return static_cast<GlobalId>(value >> 32);
}

inline void SortBySource(uint32_t* begin, uint32_t* end) {
  std::sort(begin, end);
}

// A stable sort, so that the first of equal edges stays the first.
inline void SortBySource(uint64_t* begin, uint64_t* end) {
  const auto before = [](uint64_t a, uint64_t b) {
    return SourceOf(a) < SourceOf(b);
  };
  if (end - begin >= 32) {
    std::stable_sort(begin, end, before);
    return;
  }
  for (uint64_t* at = begin; at != end; ++at) {
    const uint64_t value = *at;
    uint64_t* to = at;
    for (; to != begin && before(value, to[-1]); --to) *to = to[-1];
    *to = value;
  }
}

// The adjacency lists of one bucket, sorted; reused from bucket to bucket.
template <typename EdgeT>
class SortedBucket {
 public:
  using Value = decltype(ValueOf(EdgeT()));

  absl::Status Load(const SpillFile& file, const Bucket& bucket) {
    edges_.resize(bucket.num_edges);
    return file.Read(edges_.data(), edges_.size() * sizeof(EdgeT),
                     bucket.first_edge * sizeof(EdgeT));
  }

  void Sort(const Bucket& bucket, bool deduplicate) {
    Scatter(bucket);
    degrees_.resize(bucket.end - bucket.begin);
    size_t kept = 0;
    Value* const values = values_.data();
    for (size_t v = 0; v < degrees_.size(); ++v) {
      Value* const begin = values + (v == 0 ? 0 : ends_[v - 1]);
      Value* end = values + ends_[v];
      SortBySource(begin, end);
      if (deduplicate) {
        end = std::unique(begin, end, [](Value a, Value b) {
          return SourceOf(a) == SourceOf(b);
        });
      }
      std::move(begin, end, values + kept);
      degrees_[v] = static_cast<uint64_t>(end - begin);
      kept += degrees_[v];
    }
    num_duplicates_ = values_.size() - kept;
    values_.resize(kept);
  }

  absl::Span<const uint64_t> degrees() const { return degrees_; }
  absl::Span<const Value> values() const { return values_; }
  uint64_t num_duplicates() const { return num_duplicates_; }

 private:
  // Counting sort by destination; keeps the order of arrival.
  void Scatter(const Bucket& bucket) {
    ends_.assign(bucket.end - bucket.begin + 1, 0);
    for (const EdgeT& edge : edges_)
      ++ends_[edge.destination - bucket.begin + 1];
    for (size_t v = 1; v < ends_.size(); ++v) ends_[v] += ends_[v - 1];
    values_.resize(edges_.size());
    for (const EdgeT& edge : edges_) {
      values_[ends_[edge.destination - bucket.begin]++] = ValueOf(edge);
    }
  }

  std::vector<EdgeT> edges_;
  std::vector<uint64_t> ends_;  // End of each destination's values.
  std::vector<Value> values_;
  std::vector<uint64_t> degrees_;
  uint64_t num_duplicates_ = 0;
};

}  // namespace fgnn

#endif  // FGNN_TOOLS_DATASET_BUILDING_SORTED_BUCKET_H_
