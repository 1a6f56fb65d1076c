// Small graphs with all that is difficult for samplers: isolated vertices,
// self-loops, multi-edges, hubs.
#ifndef FGNN_TESTS_REFERENCE_RANDOM_GRAPH_H_
#define FGNN_TESTS_REFERENCE_RANDOM_GRAPH_H_

#include <cstdint>
#include <utility>
#include <vector>

#include "absl/types/span.h"
#include "shared/graph/dataset.h"
#include "tests/reference/sampling_reference.h"

namespace fgnn::reference {

// Random numbers for tests, from a separate stream.
class TestDraws {
 public:
  explicit TestDraws(uint64_t seed)
      : key_(MakePhiloxKey(seed, 0, 0, 0, Purpose::kGenerateDataset)) {}
  uint64_t Below(uint64_t range) {
    const uint64_t i = next_++;
    const PhiloxBlock block = Philox4x32(
        {static_cast<uint32_t>(i), static_cast<uint32_t>(i >> 32), 7, 7}, key_);
    return UniformBelow(uint64_t{block.words[0]} << 32 | block.words[1], range);
  }

 private:
  PhiloxKey key_;
  uint64_t next_ = 0;
};

// A graph in CSC with indices of both widths. Owns its arrays.
class CscGraph {
 public:
  explicit CscGraph(AdjacencyLists lists) : lists_(std::move(lists)) {
    indptr_.push_back(0);
    for (const std::vector<uint32_t>& list : lists_) {
      narrow_.insert(narrow_.end(), list.begin(), list.end());
      indptr_.push_back(static_cast<int64_t>(narrow_.size()));
    }
    wide_.assign(narrow_.begin(), narrow_.end());
  }
  CscView view(bool wide = false) const {
    CscView csc{indptr_, absl::Span<const uint32_t>(narrow_)};
    if (wide) csc.indices = absl::Span<const int64_t>(wide_);
    return csc;
  }
  const AdjacencyLists& lists() const { return lists_; }

 private:
  AdjacencyLists lists_;
  std::vector<int64_t> indptr_;
  std::vector<uint32_t> narrow_;
  std::vector<int64_t> wide_;
};

// Returns a random graph. About every fourth vertex has no in-neighbours. One
// or two hubs have up to 40 * num_nodes in-neighbours, so with many repeats.
inline CscGraph RandomGraph(uint32_t num_nodes, uint64_t seed) {
  TestDraws draws(seed);
  AdjacencyLists lists(num_nodes);
  for (uint32_t v = 0; v < num_nodes; ++v) {
    const uint64_t kind = draws.Below(16);
    if (kind < 4) continue;
    uint64_t degree = 1 + draws.Below(12);
    if (kind == 15) degree += draws.Below(uint64_t{40} * num_nodes);
    for (uint64_t i = 0; i < degree; ++i) {
      lists[v].push_back(static_cast<uint32_t>(draws.Below(num_nodes)));
    }
    if (kind == 14) lists[v].push_back(v);
    if (kind == 13) lists[v].push_back(lists[v].front());
  }
  return CscGraph(std::move(lists));
}

// Returns distinct vertices, at least one, in no order.
inline std::vector<int64_t> RandomTrainSet(uint32_t num_nodes, uint64_t seed) {
  TestDraws draws(seed + 1000);
  const KeyedPermutation permutation(
      num_nodes, MakePhiloxKey(seed, 0, 0, 0, Purpose::kSplit));
  std::vector<int64_t> train(1 + draws.Below(num_nodes));
  for (uint64_t i = 0; i < train.size(); ++i) {
    train[i] = static_cast<int64_t>(permutation(i));
  }
  return train;
}

}  // namespace fgnn::reference

#endif  // FGNN_TESTS_REFERENCE_RANDOM_GRAPH_H_
