#include "trainer_service/infer/tables/vertex_truth.h"

#include <cstddef>

#include "shared/base/status.h"

namespace fgnn {
namespace {

constexpr std::string_view kSplitNames[] = {"", "train", "valid", "test"};

}  // namespace

absl::StatusOr<VertexTruth> VertexTruth::Make(const Dataset& dataset) {
  VertexTruth truth(dataset);
  const absl::Span<const int64_t> splits[] = {
      {}, dataset.train(), dataset.valid(), dataset.test()};
  // From the last one, so that the first has the last word.
  for (uint8_t split = 3; split > 0; --split) {
    if (splits[split].empty()) continue;
    truth.splits_.resize(dataset.num_nodes());
    for (size_t i = 0; i < splits[split].size(); ++i) {
      FGNN_ASSIGN_OR_RETURN(const GlobalId v,
                            ReadSplit(dataset.graph().places, splits[split], i,
                                      dataset.num_nodes()));
      truth.splits_[v] = split;
    }
  }
  return truth;
}

std::string_view VertexTruth::split(GlobalId v) const {
  return has_splits() ? kSplitNames[splits_[v]] : "";
}

}  // namespace fgnn
