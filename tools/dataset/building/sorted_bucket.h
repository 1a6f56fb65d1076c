// Sorts the edges of one bucket in memory into adjacency lists. Private to
// csc_builder.cc.
#ifndef FGNN_TOOLS_DATASET_BUILDING_SORTED_BUCKET_H_
#define FGNN_TOOLS_DATASET_BUILDING_SORTED_BUCKET_H_

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <type_traits>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "shared/base/status.h"
#include "shared/base/types.h"
#include "tools/dataset/building/csc_builder.h"
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

inline float WeightOf(uint64_t value) {
  const auto bits = static_cast<uint32_t>(value);
  float weight = 0;
  std::memcpy(&weight, &bits, sizeof(weight));
  return weight;
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

// Makes one of the equal values [begin, end). Plain values are all the same.
inline uint32_t MergeValues(const uint32_t* begin, const uint32_t*, EqualEdges,
                            bool*) {
  return *begin;
}

// Sets *unequal if the weights differ. An infinite weight: the sum is beyond
// f32.
inline uint64_t MergeValues(const uint64_t* begin, const uint64_t* end,
                            EqualEdges rule, bool* unequal) {
  double sum = 0;
  float largest = 0;
  for (const uint64_t* at = begin; at != end; ++at) {
    *unequal = *unequal || *at != *begin;
    sum += double{WeightOf(*at)};
    largest = std::max(largest, WeightOf(*at));
  }
  if (rule == EqualEdges::kFirst) return *begin;
  return ValueOf(WeightedEdge{
      SourceOf(*begin), 0,
      rule == EqualEdges::kSum ? static_cast<float>(sum) : largest});
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

  // A reverse is taken only if no such edge was given. InvalidArgument, naming
  // the edge: a sum of weights is beyond f32.
  absl::Status Sort(const Bucket& bucket, bool deduplicate, EqualEdges rule) {
    totals_ = {};
    degrees_.resize(bucket.end - bucket.begin);
    const auto edges = absl::MakeConstSpan(edges_);
    values_.clear();
    SortLists(bucket, edges.first(bucket.num_given), given_);
    const bool has_reverses = bucket.num_given < edges.size();
    if (has_reverses) {
      SortLists(bucket, edges.subspan(bucket.num_given), reverses_);
    }
    for (size_t v = 0; v < degrees_.size(); ++v) {
      const absl::Span<Value> given = given_.List(v);
      const size_t num_given =
          deduplicate ? Unique(given, rule, &totals_) : given.size();
      totals_.num_merged += given.size() - num_given;
      const size_t begin = values_.size();
      if (has_reverses) {
        AddWithReverses(given.first(num_given), v, deduplicate, rule);
      } else {
        values_.insert(values_.end(), given.data(), given.data() + num_given);
      }
      degrees_[v] = values_.size() - begin;
      if (rule == EqualEdges::kSum) {
        FGNN_RETURN_IF_ERROR(CheckSums(bucket.begin + v, begin));
      }
    }
    return absl::OkStatus();
  }

  absl::Span<const uint64_t> degrees() const { return degrees_; }
  absl::Span<const Value> values() const { return values_; }
  // Totals of the bucket, but num_edges.
  const CscTotals& totals() const { return totals_; }

 private:
  // The values of each destination.
  struct Lists {
    std::vector<uint64_t> ends;
    std::vector<Value> values;

    absl::Span<Value> List(size_t v) {
      const uint64_t begin = v == 0 ? 0 : ends[v - 1];
      return absl::MakeSpan(values).subspan(begin, ends[v] - begin);
    }
  };

  // Counting sort by destination, which keeps the order of arrival; then each
  // list by source.
  static void SortLists(const Bucket& bucket, absl::Span<const EdgeT> edges,
                        Lists& lists) {
    lists.values.resize(edges.size());
    std::vector<uint64_t>& ends = lists.ends;
    ends.assign(bucket.end - bucket.begin + 1, 0);
    for (const EdgeT& edge : edges) ++ends[edge.destination - bucket.begin + 1];
    for (size_t v = 1; v < ends.size(); ++v) ends[v] += ends[v - 1];
    for (const EdgeT& edge : edges) {
      lists.values[ends[edge.destination - bucket.begin]++] = ValueOf(edge);
    }
    for (size_t v = 0; v + 1 < ends.size(); ++v) {
      const absl::Span<Value> list = lists.List(v);
      SortBySource(list.data(), list.data() + list.size());
    }
  }

  // Makes one of each run of equal edges. Returns how many are left.
  static size_t Unique(absl::Span<Value> list, EqualEdges rule,
                       CscTotals* totals) {
    size_t kept = 0;
    for (size_t i = 0; i < list.size();) {
      size_t end = i + 1;
      while (end < list.size() && SourceOf(list[end]) == SourceOf(list[i])) {
        ++end;
      }
      bool unequal = false;
      list[kept++] =
          end == i + 1
              ? list[i]
              : MergeValues(list.data() + i, list.data() + end, rule, &unequal);
      totals->num_unequal += static_cast<uint64_t>(unequal);
      i = end;
    }
    return kept;
  }

  // Appends the list of `v` with the reverses that it lacks.
  void AddWithReverses(absl::Span<const Value> given, size_t v,
                       bool deduplicate, EqualEdges rule) {
    absl::Span<Value> reverses = reverses_.List(v);
    CscTotals uncounted;
    if (deduplicate) {
      reverses = reverses.first(Unique(reverses, rule, &uncounted));
    }
    size_t g = 0;
    for (const Value& reverse : reverses) {
      const GlobalId source = SourceOf(reverse);
      while (g < given.size() && SourceOf(given[g]) < source) {
        values_.push_back(given[g++]);
      }
      if (g < given.size() && SourceOf(given[g]) == source) continue;
      values_.push_back(reverse);
      ++totals_.num_reverses;
    }
    values_.insert(values_.end(), given.data() + g,
                   given.data() + given.size());
  }

  // Checks the values from `begin` on, which are those of `destination`.
  absl::Status CheckSums(uint64_t destination, size_t begin) const {
    if constexpr (std::is_same_v<Value, uint64_t>) {
      for (size_t i = begin; i < values_.size(); ++i) {
        if (std::isfinite(WeightOf(values_[i]))) continue;
        return absl::InvalidArgumentError(
            absl::StrCat("the weights of the edges ", SourceOf(values_[i]),
                         " -> ", destination,
                         " have a sum beyond f32; pass --equal-edges first or "
                         "largest"));
      }
    }
    return absl::OkStatus();
  }

  std::vector<EdgeT> edges_;
  Lists given_;
  Lists reverses_;
  std::vector<Value> values_;
  std::vector<uint64_t> degrees_;
  CscTotals totals_;
};

}  // namespace fgnn

#endif  // FGNN_TOOLS_DATASET_BUILDING_SORTED_BUCKET_H_
