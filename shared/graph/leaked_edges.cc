#include "shared/graph/leaked_edges.h"

#include <algorithm>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "shared/base/status.h"
#include "shared/graph/edge_lists.h"

namespace fgnn {
namespace {

// Limits the memory for the pairs that are sought at a time.
constexpr uint64_t kEdgesPerPass = uint64_t{1} << 24;
constexpr uint64_t kEdgesPerCheck = uint64_t{1} << 20;
// Keys that are looked at one by one before the rest is searched by halves.
constexpr int kStepsToNextKey = 8;

// Orders pairs by destination, as the graph has its edges.
uint64_t KeyOf(uint64_t source, uint64_t destination) {
  return destination << 32 | source;
}

// The ends of some edges in both directions, and the pairs of them that are
// edges of a graph.
class SoughtPairs {
 public:
  // Seeks `edges` [begin, end) of vertices below num_nodes.
  static absl::StatusOr<SoughtPairs> Make(const EdgeView& edges, uint64_t begin,
                                          uint64_t end, uint64_t num_nodes) {
    SoughtPairs sought;
    sought.keys_.reserve(2 * (end - begin));
    for (uint64_t place = begin; place < end; ++place) {
      FGNN_ASSIGN_OR_RETURN(const Edge edge, edges.Read(place, num_nodes));
      sought.keys_.push_back(KeyOf(edge.source, edge.destination));
      sought.keys_.push_back(KeyOf(edge.destination, edge.source));
    }
    std::vector<uint64_t>& keys = sought.keys_;
    std::sort(keys.begin(), keys.end());
    keys.erase(std::unique(keys.begin(), keys.end()), keys.end());
    sought.found_.resize(keys.size());
    return sought;
  }

  // Seeks among the in-neighbours of every destination.
  absl::Status SeekIn(const CscView& graph,
                      absl::FunctionRef<absl::Status()> check) {
    uint64_t unchecked = 0;
    for (place_ = 0; place_ < keys_.size();) {
      const uint64_t v = DestinationAt(place_);
      FGNN_ASSIGN_OR_RETURN(const EdgeList list, ReadEdgeList(graph, v));
      FGNN_RETURN_IF_ERROR(ForEachSource(
          graph, list, [&](GlobalId u) { Seek(KeyOf(uint64_t{u}, v)); }));
      while (place_ < keys_.size() && DestinationAt(place_) <= v) ++place_;
      unchecked += list.degree;
      if (unchecked < kEdgesPerCheck) continue;
      unchecked = 0;
      FGNN_RETURN_IF_ERROR(check());
    }
    return check();
  }

  // Seeks among all edges, fastest if they are in the order of a graph.
  absl::Status SeekIn(const EdgeView& edges,
                      absl::FunctionRef<absl::Status()> check) {
    for (uint64_t place = 0; place < edges.size(); ++place) {
      if (place % kEdgesPerCheck == 0) FGNN_RETURN_IF_ERROR(check());
      const auto [source, destination] = edges[place];
      Seek(KeyOf(source, destination));
    }
    return absl::OkStatus();
  }

  // Whether any pair was found.
  bool found_any() const { return found_any_; }
  // Whether the edge was found in either direction.
  bool IsFound(const Edge& edge) const {
    return IsFound(KeyOf(edge.source, edge.destination)) ||
           IsFound(KeyOf(edge.destination, edge.source));
  }

 private:
  SoughtPairs() = default;

  bool IsFound(uint64_t key) const {
    const size_t place = PlaceOf(key, 0);
    return place < keys_.size() && keys_[place] == key && found_[place];
  }
  uint64_t DestinationAt(size_t place) const { return keys_[place] >> 32; }

  // Returns the first place from `begin` on whose key is not below `key`.
  size_t PlaceOf(uint64_t key, size_t begin) const {
    return static_cast<size_t>(
        std::lower_bound(keys_.begin() + static_cast<ptrdiff_t>(begin),
                         keys_.end(), key) -
        keys_.begin());
  }

  // Takes a step or two if keys are sought in ascending order, as a graph
  // mostly has them. Any other order takes a search by halves.
  void Seek(uint64_t key) {
    if (place_ > 0 && keys_[place_ - 1] >= key) place_ = PlaceOf(key, 0);
    for (int step = 0; place_ < keys_.size() && keys_[place_] < key; ++step) {
      place_ = step < kStepsToNextKey ? place_ + 1 : PlaceOf(key, place_);
    }
    if (place_ == keys_.size() || keys_[place_] != key) return;
    found_[place_] = true;
    found_any_ = true;
  }

  std::vector<uint64_t> keys_;  // Ascending, each once.
  std::vector<bool> found_;     // [keys_.size()]
  bool found_any_ = false;
  size_t place_ = 0;  // First place whose key is not below the last sought.
};

absl::StatusOr<uint64_t> CountLeaked(const EdgeView& edges,
                                     const Dataset& dataset,
                                     absl::FunctionRef<absl::Status()> check) {
  uint64_t count = 0;
  for (uint64_t begin = 0; begin < edges.size(); begin += kEdgesPerPass) {
    const uint64_t end = std::min(edges.size(), begin + kEdgesPerPass);
    FGNN_ASSIGN_OR_RETURN(
        SoughtPairs sought,
        SoughtPairs::Make(edges, begin, end, dataset.num_nodes()));
    FGNN_RETURN_IF_ERROR(sought.SeekIn(dataset.graph(), check));
    if (dataset.has_train_edges()) {
      FGNN_RETURN_IF_ERROR(sought.SeekIn(dataset.train_edges(), check));
    }
    if (!sought.found_any()) continue;
    for (uint64_t place = begin; place < end; ++place) {
      if (sought.IsFound(edges[place])) ++count;
    }
  }
  return count;
}

}  // namespace

absl::StatusOr<LeakedEdges> CountLeakedEdges(
    const Dataset& dataset, absl::FunctionRef<absl::Status()> check) {
  LeakedEdges leaked;
  FGNN_ASSIGN_OR_RETURN(leaked.num_valid,
                        CountLeaked(dataset.valid_edges(), dataset, check));
  FGNN_ASSIGN_OR_RETURN(leaked.num_test,
                        CountLeaked(dataset.test_edges(), dataset, check));
  return leaked;
}

absl::StatusOr<std::optional<std::string>> LeakedEdgesWarning(
    const Dataset& dataset, absl::FunctionRef<absl::Status()> check) {
  FGNN_ASSIGN_OR_RETURN(const LeakedEdges leaked,
                        CountLeakedEdges(dataset, check));
  std::vector<std::string> counts;
  const auto add = [&counts](uint64_t count, const EdgeView& edges,
                             const char* file) {
    if (count == 0) return;
    counts.push_back(
        absl::StrCat(count, " of ", edges.size(), " edges of ", file));
  };
  add(leaked.num_valid, dataset.valid_edges(), "valid_edges.npy");
  add(leaked.num_test, dataset.test_edges(), "test_edges.npy");
  if (counts.empty()) return std::nullopt;
  return absl::StrCat(
      dataset.folder().string(), ": ", absl::StrJoin(counts, " and "),
      " are trained on: the graph",
      dataset.has_train_edges() ? " or train_edges.npy" : "",
      " has them, themselves or reversed, so scores come out too high; split "
      "the whole graph anew with 'fgnn dataset split-edges'");
}

}  // namespace fgnn
