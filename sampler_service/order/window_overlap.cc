#include "sampler_service/order/window_overlap.h"

#include "absl/strings/str_cat.h"

namespace fgnn {
namespace {

// Number of words in flight.
constexpr size_t kPrefetchedWords = 64;

}  // namespace

absl::StatusOr<WindowOverlap> WindowOverlap::Create(uint64_t num_nodes) {
  TableMemory<uint64_t> batches = AllocateTable<uint64_t>(num_nodes);
  TableMemory<GlobalId> met = AllocateTable<GlobalId>(num_nodes);
  if (batches == nullptr || met == nullptr) {
    return absl::ResourceExhaustedError(
        absl::StrCat("no memory to put the batches of ", num_nodes,
                     " vertices in order; set sampling.order to drawn"));
  }
  return WindowOverlap(std::move(batches), std::move(met));
}

void WindowOverlap::StartWindow() {
  for (uint64_t i = 0; i < num_met_; ++i) batches_[met_[i]] = 0;
  num_met_ = 0;
  num_batches_ = 0;
}

void WindowOverlap::Add(absl::Span<const GlobalId> nodes) {
  const uint64_t bit = uint64_t{1} << (num_batches_ - 1);
  uint64_t* const batches = batches_.get();
  GlobalId* const met = met_.get();
  for (size_t i = 0; i < nodes.size(); ++i) {
    if (i + kPrefetchedWords < nodes.size()) {
      __builtin_prefetch(&batches[nodes[i + kPrefetchedWords]], 1);
    }
    uint64_t& of_node = batches[nodes[i]];
    if (of_node == 0) met[num_met_++] = nodes[i];
    of_node |= bit;
  }
}

OverlapMatrix WindowOverlap::Count() const {
  OverlapMatrix overlap(num_batches_);
  for (uint64_t i = 0; i < num_met_; ++i) {
    if (i + kPrefetchedWords < num_met_) {
      __builtin_prefetch(&batches_[met_[i + kPrefetchedWords]]);
    }
    overlap.AddVertex(batches_[met_[i]]);
  }
  return overlap;
}

}  // namespace fgnn
