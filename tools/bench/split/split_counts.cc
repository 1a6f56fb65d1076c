#include "tools/bench/split/split_counts.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace fgnn {
namespace {

double ShareOf(uint64_t part, uint64_t whole) {
  return whole == 0 ? 0
                    : static_cast<double>(part) / static_cast<double>(whole);
}

// Returns by what share `count` is more than `base`.
double More(uint64_t count, uint64_t base) {
  return base == 0 ? 0 : ShareOf(count, base) - 1;
}

template <typename Hops>
uint64_t SumOf(const Hops& hops, uint64_t HopCounts::*field) {
  uint64_t sum = 0;
  for (const HopCounts& hop : hops) sum += hop.*field;
  return sum;
}

uint64_t InputsOf(const std::vector<HopCounts>& hops) {
  return hops.empty() ? 0 : hops.back().sources;
}

double SkewOf(const std::vector<uint64_t>& amounts) {
  const auto [least, most] =
      std::minmax_element(amounts.begin(), amounts.end());
  const uint64_t sum =
      std::accumulate(amounts.begin(), amounts.end(), uint64_t{0});
  return ShareOf((*most - *least) * amounts.size(), sum);
}

void Add(const TaskView& task, std::vector<HopCounts>* sums) {
  sums->resize(static_cast<size_t>(task.num_hops));
  for (size_t h = 0; h < sums->size(); ++h) {
    const BlockView& block = task.hops[h];
    (*sums)[h].destinations += block.num_destinations;
    (*sums)[h].edges += block.indices.size();
    (*sums)[h].sources += block.num_sources;
  }
}

}  // namespace

double SplitCounts::LocalEdges() const {
  uint64_t local = 0;
  for (const SplitHopCounts& hop : parts) local += hop.local_edges;
  return ShareOf(local, SumOf(whole, &HopCounts::edges));
}

double SplitCounts::EdgeRedundancy() const {
  return More(SumOf(micro, &HopCounts::edges), SumOf(whole, &HopCounts::edges));
}

double SplitCounts::ComputeRedundancy() const {
  return More(SumOf(micro, &HopCounts::destinations),
              SumOf(whole, &HopCounts::destinations));
}

double SplitCounts::LoadRedundancy() const {
  return More(InputsOf(micro), InputsOf(whole));
}

double SplitCounts::UnsharedLoads() const {
  if (parts.empty()) return 0;
  const SplitHopCounts& last = parts.back();
  return More(last.own.sources + last.remote, InputsOf(whole));
}

SplitCounter::SplitCounter(uint32_t num_parts, absl::Span<const uint32_t> ranks,
                           std::vector<double> caches)
    : num_parts_(num_parts), ranks_(ranks), caches_(std::move(caches)) {
  sums_.loaded.resize(caches_.size());
}

uint64_t SplitCounter::MissesOf(absl::Span<const uint32_t> rows, double cache,
                                uint32_t trainers) const {
  const double share = std::min(cache * trainers, 1.0);
  const auto cached = static_cast<uint64_t>(
      std::floor(share * static_cast<double>(ranks_.size())));
  return static_cast<uint64_t>(
      std::count_if(rows.begin(), rows.end(),
                    [&](uint32_t v) { return ranks_[v] >= cached; }));
}

void SplitCounter::AddWhole(const TaskView& whole) {
  ++sums_.batches;
  sums_.seeds += whole.num_seeds;
  Add(whole, &sums_.whole);
  for (size_t i = 0; i < caches_.size(); ++i) {
    sums_.loaded[i].split +=
        MissesOf(whole.input_nodes, caches_[i], num_parts_);
  }
}

void SplitCounter::AddPart(const TaskView& part) {
  const auto num_hops = static_cast<size_t>(part.num_hops);
  sums_.parts.resize(num_hops);
  uint64_t edges = 0;
  uint64_t rows = 0;
  for (size_t h = 0; h < num_hops; ++h) {
    const BlockView& block = part.hops[h];
    const uint32_t num_own = block.num_own_sources();
    SplitHopCounts& hop = sums_.parts[h];
    hop.own.destinations += block.num_destinations;
    hop.own.edges += block.indices.size();
    hop.own.sources += num_own;
    hop.remote += block.num_remote_sources;
    hop.local_edges += static_cast<uint64_t>(
        std::count_if(block.indices.begin(), block.indices.end(),
                      [&](uint32_t source) { return source < num_own; }));
    edges += block.indices.size();
    rows += block.num_destinations;
  }
  edges_of_parts_.push_back(edges);
  rows_of_parts_.push_back(rows);
  if (edges_of_parts_.size() < num_parts_) return;
  sums_.edge_skew += SkewOf(edges_of_parts_);
  sums_.row_skew += SkewOf(rows_of_parts_);
  edges_of_parts_.clear();
  rows_of_parts_.clear();
}

void SplitCounter::AddMicro(const TaskView& micro) {
  Add(micro, &sums_.micro);
  for (size_t i = 0; i < caches_.size(); ++i) {
    LoadedRows& rows = sums_.loaded[i];
    rows.alone += MissesOf(micro.input_nodes, caches_[i], 1);
    rows.shared += MissesOf(micro.input_nodes, caches_[i], num_parts_);
  }
}

SplitCounts SplitCounter::Counts() const {
  SplitCounts counts = sums_;
  if (counts.batches > 0) {
    counts.edge_skew /= static_cast<double>(counts.batches);
    counts.row_skew /= static_cast<double>(counts.batches);
  }
  return counts;
}

}  // namespace fgnn
