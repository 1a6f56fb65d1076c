// How well a partition book shares a graph out.
#ifndef FGNN_SHARED_GRAPH_BOOK_BOOK_FIGURES_H_
#define FGNN_SHARED_GRAPH_BOOK_BOOK_FIGURES_H_

#include <array>
#include <cstdint>

#include "absl/status/statusor.h"
#include "shared/graph/book/partition_book.h"
#include "shared/graph/dataset.h"
#include "shared/graph/host_rows.h"

namespace fgnn {

// Counts of a dataset by fine parts.
struct BookCounts {
  // Number of edges by the parts of destination and source.
  std::array<std::array<uint64_t, kFineParts>, kFineParts> edges = {};
  std::array<uint64_t, kFineParts> vertices = {};
  std::array<uint64_t, kFineParts> train = {};  // Train vertices.
};

// One pass over the graph. InvalidArgument, naming file and element: the
// dataset has changed.
absl::StatusOr<BookCounts> CountByParts(const Dataset& dataset,
                                        const PartitionBook& book);

// Amounts of the owners.
struct OwnedAmounts {
  uint64_t least = 0;
  uint64_t most = 0;
  double mean = 0;

  // (most - least) / mean; 0 if all is 0.
  double skew() const;
};

// Figures for a number of owners.
struct OwnerFigures {
  double local_edges = 1;  // Share of the edges within an owner.
  OwnedAmounts vertices;
  OwnedAmounts work;  // In-edges.
  OwnedAmounts train;
  uint32_t without_vertex = 0;  // Number of owners.
  uint32_t without_train = 0;   // Number of owners without a train vertex.
};

// owners: in [1, kMostOwners].
OwnerFigures FiguresOf(const BookCounts& counts, uint32_t owners);

}  // namespace fgnn

#endif  // FGNN_SHARED_GRAPH_BOOK_BOOK_FIGURES_H_
