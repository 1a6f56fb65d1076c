#include "sampler_service/sampling/input_node_tally.h"

#include <algorithm>

#include "absl/strings/str_cat.h"

namespace fgnn {
namespace {

// Number of entries in flight.
constexpr size_t kPrefetchedEntries = 64;

constexpr int kCountBits = 16;
constexpr uint32_t kCountMask = (uint32_t{1} << kCountBits) - 1;
// No count exceeds this number either.
constexpr uint32_t kMostStamps = kCountMask;

}  // namespace

absl::StatusOr<InputNodeTally> InputNodeTally::Create(uint64_t num_nodes) {
  TableMemory<Entry> entries = AllocateTable<Entry>(num_nodes);
  if (entries != nullptr) return InputNodeTally(num_nodes, std::move(entries));
  return absl::ResourceExhaustedError(absl::StrCat(
      "no memory to count ", num_nodes, " vertices in another thread"));
}

void InputNodeTally::StartBatch() {
  if (stamp_ == kMostStamps) {
    before_.resize(num_nodes_);
    for (uint64_t v = 0; v < num_nodes_; ++v) {
      before_[v] += entries_[v] & kCountMask;
    }
    std::fill_n(entries_.get(), num_nodes_, 0);
    stamp_ = 0;
  }
  ++stamp_;
}

void InputNodeTally::Add(absl::Span<const GlobalId> nodes) {
  Entry* const entries = entries_.get();
  for (size_t i = 0; i < nodes.size(); ++i) {
    if (i + kPrefetchedEntries < nodes.size()) {
      __builtin_prefetch(&entries[nodes[i + kPrefetchedEntries]], 1);
    }
    Entry& entry = entries[nodes[i]];
    const uint32_t is_new = entry >> kCountBits == stamp_ ? 0 : 1;
    entry = stamp_ << kCountBits | ((entry & kCountMask) + is_new);
  }
}

void InputNodeTally::AddTo(absl::Span<uint32_t> sum) const {
  for (size_t v = 0; v < sum.size(); ++v) sum[v] += entries_[v] & kCountMask;
  for (size_t v = 0; v < before_.size(); ++v) sum[v] += before_[v];
}

}  // namespace fgnn
