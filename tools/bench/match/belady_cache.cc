#include "tools/bench/match/belady_cache.h"

#include <algorithm>
#include <utility>

namespace fgnn {
namespace {

class BeladyCache {
 public:
  BeladyCache(const FutureRows& future, const BeladyOptions& options)
      : future_(future),
        options_(options),
        next_(future.first),
        is_kept_(options.ranks.size()) {
    for (GlobalId v = 0; v < options.ranks.size(); ++v) {
      if (options.ranks[v] >= options.num_rows) continue;
      kept_.push_back(v);
      is_kept_[v] = true;
    }
  }

  // Returns the hits of a batch, and keeps what is used soonest.
  uint64_t Take(size_t batch) {
    const BatchRows& rows = *future_.batches[batch];
    uint64_t hits = 0;
    for (size_t j = 0; j < rows.size(); ++j) {
      next_[rows[j]] = future_.next[batch][j];
      if (is_kept_[rows[j]]) {
        ++hits;
        continue;
      }
      is_kept_[rows[j]] = true;
      kept_.push_back(rows[j]);
    }
    DropDownToSize(batch);
    return hits;
  }

 private:
  struct Candidate {
    uint64_t key;  // Next use, then hot rank; the lowest are kept.
    GlobalId vertex;
  };

  void DropDownToSize(size_t batch) {
    if (kept_.size() <= options_.num_rows) return;
    candidates_.clear();
    for (const GlobalId v : kept_) {
      const bool is_known =
          next_[v] != FutureRows::kNever &&
          next_[v] - static_cast<uint32_t>(batch) <= options_.num_ahead;
      const uint64_t use = is_known ? next_[v] : FutureRows::kNever;
      candidates_.push_back({use << 32 | options_.ranks[v], v});
    }
    const auto end =
        candidates_.begin() + static_cast<ptrdiff_t>(options_.num_rows);
    std::nth_element(
        candidates_.begin(), end, candidates_.end(),
        [](const Candidate& a, const Candidate& b) { return a.key < b.key; });
    kept_.clear();
    for (auto it = candidates_.begin(); it != end; ++it) {
      kept_.push_back(it->vertex);
    }
    for (auto it = end; it != candidates_.end(); ++it) {
      is_kept_[it->vertex] = false;
    }
  }

  const FutureRows& future_;
  const BeladyOptions& options_;
  std::vector<uint32_t> next_;  // [num_nodes] Next batch that has the row.
  std::vector<bool> is_kept_;   // [num_nodes]
  std::vector<GlobalId> kept_;
  std::vector<Candidate> candidates_;
};

}  // namespace

FutureRows LookAhead(BatchSequence batches, uint64_t num_nodes) {
  FutureRows future = {
      .batches = std::move(batches),
      .next = {},
      .first = std::vector<uint32_t>(num_nodes, FutureRows::kNever)};
  future.next.resize(future.batches.size());
  for (size_t i = future.batches.size(); i-- > 0;) {
    future.next[i].reserve(future.batches[i]->size());
    for (const GlobalId v : *future.batches[i]) {
      future.next[i].push_back(
          std::exchange(future.first[v], static_cast<uint32_t>(i)));
    }
  }
  return future;
}

uint64_t BeladyHits(const FutureRows& future, const BeladyOptions& options) {
  BeladyCache cache(future, options);
  uint64_t hits = 0;
  for (size_t batch = 0; batch < options.num_batches; ++batch) {
    hits += cache.Take(batch);
  }
  return hits;
}

}  // namespace fgnn
