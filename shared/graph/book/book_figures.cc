#include "shared/graph/book/book_figures.h"

#include <algorithm>
#include <vector>

#include "shared/base/status.h"
#include "shared/graph/edge_lists.h"

namespace fgnn {
namespace {

OwnedAmounts AmountsOf(const std::vector<uint64_t>& of_owners) {
  const auto [least, most] =
      std::minmax_element(of_owners.begin(), of_owners.end());
  double sum = 0;
  for (const uint64_t amount : of_owners) sum += static_cast<double>(amount);
  return {.least = *least,
          .most = *most,
          .mean = sum / static_cast<double>(of_owners.size())};
}

}  // namespace

absl::StatusOr<BookCounts> CountByParts(const Dataset& dataset,
                                        const PartitionBook& book) {
  BookCounts counts;
  const CscView& graph = dataset.graph();
  for (uint64_t v = 0; v < graph.num_nodes(); ++v) {
    const uint32_t part = book.PartOf(static_cast<GlobalId>(v));
    ++counts.vertices[part];
    FGNN_ASSIGN_OR_RETURN(const EdgeList list, ReadEdgeList(graph, v));
    FGNN_RETURN_IF_ERROR(ForEachSource(graph, list, [&](GlobalId u) {
      ++counts.edges[part][book.PartOf(u)];
    }));
  }
  for (size_t i = 0; i < dataset.train().size(); ++i) {
    FGNN_ASSIGN_OR_RETURN(
        const GlobalId v,
        ReadSplit(graph.places, dataset.train(), i, graph.num_nodes()));
    ++counts.train[book.PartOf(v)];
  }
  return counts;
}

double OwnedAmounts::skew() const {
  return most == 0 ? 0 : static_cast<double>(most - least) / mean;
}

OwnerFigures FiguresOf(const BookCounts& counts, uint32_t owners) {
  std::vector<uint64_t> vertices(owners);
  std::vector<uint64_t> work(owners);
  std::vector<uint64_t> train(owners);
  uint64_t local = 0;
  uint64_t all = 0;
  for (uint32_t part = 0; part < kFineParts; ++part) {
    const uint32_t owner = OwnerOfPart(part, owners);
    vertices[owner] += counts.vertices[part];
    train[owner] += counts.train[part];
    for (uint32_t source = 0; source < kFineParts; ++source) {
      const uint64_t edges = counts.edges[part][source];
      work[owner] += edges;
      all += edges;
      if (OwnerOfPart(source, owners) == owner) local += edges;
    }
  }
  OwnerFigures figures = {.vertices = AmountsOf(vertices),
                          .work = AmountsOf(work),
                          .train = AmountsOf(train),
                          .without_vertex = static_cast<uint32_t>(std::count(
                              vertices.begin(), vertices.end(), uint64_t{0})),
                          .without_train = static_cast<uint32_t>(std::count(
                              train.begin(), train.end(), uint64_t{0}))};
  if (all > 0) {
    figures.local_edges = static_cast<double>(local) / static_cast<double>(all);
  }
  return figures;
}

}  // namespace fgnn
