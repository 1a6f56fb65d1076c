#include "trainer_service/infer/tables/vertex_truth.h"

#include <cstddef>

namespace fgnn {
namespace {

constexpr std::string_view kSplitNames[] = {"", "train", "valid", "test"};

}  // namespace

VertexTruth::VertexTruth(const Dataset& dataset) : labels_(dataset.labels()) {
  const absl::Span<const int64_t> splits[] = {
      {}, dataset.train(), dataset.valid(), dataset.test()};
  // From the last one, so that the first has the last word.
  for (uint8_t split = 3; split > 0; --split) {
    if (splits[split].empty()) continue;
    splits_.resize(dataset.num_nodes());
    for (const int64_t v : splits[split]) {
      splits_[static_cast<size_t>(v)] = split;
    }
  }
}

std::string_view VertexTruth::split(GlobalId v) const {
  return has_splits() ? kSplitNames[splits_[v]] : "";
}

}  // namespace fgnn
