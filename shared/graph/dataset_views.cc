// The views that a dataset gives of its arrays.
#include <algorithm>

#include "absl/strings/str_cat.h"
#include "shared/base/enum_words.h"
#include "shared/base/read_once.h"
#include "shared/base/status.h"
#include "shared/graph/array_places.h"
#include "shared/graph/dataset.h"
#include "shared/graph/edge_lists.h"

namespace fgnn {
namespace {

constexpr EnumWord<FeatureType> kFeatureTypes[] = {
    {FeatureType::kFloat32, "f32"},
    {FeatureType::kFloat16, "f16"},
    {FeatureType::kBfloat16, "bf16"}};

}  // namespace

size_t BytesOf(FeatureType type) {
  return type == FeatureType::kFloat32 ? 4 : 2;
}

std::optional<FeatureType> FeatureTypeOf(std::string_view name) {
  return ValueIn(kFeatureTypes, name);
}

std::string_view NameOf(FeatureType type) {
  return WordIn(kFeatureTypes, type);
}

uint64_t EdgeView::size() const {
  if (graph_ != nullptr) return graph_->num_edges();
  return std::visit([](auto ends) { return ends.size() / 2; }, pairs_);
}

Edge EdgeView::operator[](uint64_t place) const {
  if (graph_ == nullptr) {
    return std::visit(
        [place](auto ends) {
          return Edge{static_cast<uint64_t>(ReadOnce(ends[2 * place])),
                      static_cast<uint64_t>(ReadOnce(ends[2 * place + 1]))};
        },
        pairs_);
  }
  const absl::Span<const EdgeOffset> indptr = graph_->indptr;
  const auto behind = std::upper_bound(indptr.begin(), indptr.end(),
                                       static_cast<EdgeOffset>(place));
  const uint64_t source = std::visit(
      [place](auto indices) {
        return static_cast<uint64_t>(ReadOnce(indices[place]));
      },
      graph_->indices);
  return {source, static_cast<uint64_t>(behind - indptr.begin()) - 1};
}

absl::StatusOr<Edge> EdgeView::Read(uint64_t place, uint64_t num_nodes) const {
  const Edge edge = (*this)[place];
  if (std::max(edge.source, edge.destination) < num_nodes) return edge;
  return Changed(place, edge, num_nodes);
}

absl::Status EdgeView::Changed(uint64_t place, const Edge& edge,
                               uint64_t num_nodes) const {
  const bool is_source = edge.source >= num_nodes;
  const uint64_t end = is_source ? edge.source : edge.destination;
  if (graph_ != nullptr) {
    return is_source ? ChangedIndex(*graph_, place, end)
                     : FindChangedList(*graph_);
  }
  return std::visit(
      [&](auto ends) {
        return ChangedElement(
            places_, &ends[2 * place + (is_source ? 0 : 1)],
            absl::StrCat("an end of edge ", place), static_cast<int64_t>(end),
            absl::StrCat("but the graph has ", num_nodes, " vertices"));
      },
      pairs_);
}

absl::StatusOr<GlobalId> ReadSplit(const ArrayPlaces* places,
                                   absl::Span<const int64_t> split,
                                   size_t place, uint64_t num_nodes) {
  const int64_t v = ReadOnce(split[place]);
  if (static_cast<uint64_t>(v) < num_nodes) return static_cast<GlobalId>(v);
  return ChangedElement(
      places, &split[place], absl::StrCat("vertex ", place, " of a split"), v,
      absl::StrCat("but the graph has ", num_nodes, " vertices"));
}

absl::StatusOr<uint32_t> ReadLabelOf(const ArrayPlaces* places,
                                     absl::Span<const int64_t> labels,
                                     GlobalId v, uint32_t num_classes) {
  if (v >= labels.size()) {
    return absl::InvalidArgumentError(
        absl::StrCat("vertex ", v, " has no label: there are ", labels.size()));
  }
  const int64_t label = ReadOnce(labels[v]);
  if (label >= 0 && label < int64_t{num_classes}) {
    return static_cast<uint32_t>(label);
  }
  return ChangedElement(
      places, &labels[v], absl::StrCat("the label of vertex ", v), label,
      absl::StrCat("but a vertex of a split has a label in [0, ", num_classes,
                   ")"));
}

uint64_t MaxInDegree(const CscView& graph) {
  uint64_t most = 0;
  for (uint64_t v = 0; v < graph.num_nodes(); ++v) {
    most = std::max(most, DegreeOf(graph, v));
  }
  return most;
}

}  // namespace fgnn
