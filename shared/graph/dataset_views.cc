// The views that a dataset gives of its arrays.
#include <algorithm>

#include "shared/graph/dataset.h"

namespace fgnn {

size_t BytesOf(FeatureType type) {
  return type == FeatureType::kFloat32 ? 4 : 2;
}

std::optional<FeatureType> FeatureTypeOf(std::string_view name) {
  for (const FeatureType type :
       {FeatureType::kFloat32, FeatureType::kFloat16, FeatureType::kBfloat16}) {
    if (name == NameOf(type)) return type;
  }
  return std::nullopt;
}

std::string_view NameOf(FeatureType type) {
  switch (type) {
    case FeatureType::kFloat32:
      return "f32";
    case FeatureType::kFloat16:
      return "f16";
    case FeatureType::kBfloat16:
      break;
  }
  return "bf16";
}

uint64_t EdgeView::size() const {
  if (graph_ != nullptr) return graph_->num_edges();
  return std::visit([](auto ends) { return ends.size() / 2; }, pairs_);
}

Edge EdgeView::operator[](uint64_t place) const {
  if (graph_ == nullptr) {
    return std::visit(
        [place](auto ends) {
          return Edge{static_cast<uint64_t>(ends[2 * place]),
                      static_cast<uint64_t>(ends[2 * place + 1])};
        },
        pairs_);
  }
  const absl::Span<const EdgeOffset> indptr = graph_->indptr;
  const auto behind = std::upper_bound(indptr.begin(), indptr.end(),
                                       static_cast<EdgeOffset>(place));
  const uint64_t source = std::visit(
      [place](auto indices) { return static_cast<uint64_t>(indices[place]); },
      graph_->indices);
  return {source, static_cast<uint64_t>(behind - indptr.begin()) - 1};
}

uint64_t MaxInDegree(const CscView& graph) {
  EdgeOffset most = 0;
  for (size_t v = 1; v < graph.indptr.size(); ++v) {
    most = std::max(most, graph.indptr[v] - graph.indptr[v - 1]);
  }
  return static_cast<uint64_t>(most);
}

}  // namespace fgnn
