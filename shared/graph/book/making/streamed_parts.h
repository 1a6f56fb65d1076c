// Fine parts in little memory, and at random.
#ifndef FGNN_SHARED_GRAPH_BOOK_MAKING_STREAMED_PARTS_H_
#define FGNN_SHARED_GRAPH_BOOK_MAKING_STREAMED_PARTS_H_

#include <string>

#include "absl/status/statusor.h"
#include "shared/graph/book/making/book_weights.h"
#include "shared/graph/dataset.h"

namespace fgnn {

// Return the fine part of each vertex, a byte each, and take no other memory of
// the graph's size. Equal graphs and weights give equal parts on every machine.

// Four passes over the graph. Each vertex goes to the half of the parts with
// more of its in-neighbours, times the room that the half has left; then to the
// half of that half, and so on (linear deterministic greedy, Stanton and Kliot,
// KDD 2012, down a tree). InvalidArgument, naming file and element: the graph
// has changed.
absl::StatusOr<std::string> StreamedParts(const CscView& graph,
                                          const BookWeights& weights);

// Parts of equally many vertices, give or take one.
std::string RandomParts(uint64_t num_nodes);

}  // namespace fgnn

#endif  // FGNN_SHARED_GRAPH_BOOK_MAKING_STREAMED_PARTS_H_
