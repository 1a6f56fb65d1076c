// Fine parts by METIS. The one leaf that links it.
#ifndef FGNN_SHARED_GRAPH_BOOK_MAKING_METIS_PARTS_H_
#define FGNN_SHARED_GRAPH_BOOK_MAKING_METIS_PARTS_H_

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "shared/graph/book/making/book_weights.h"
#include "shared/graph/book/making/own_process.h"
#include "shared/graph/dataset.h"

namespace fgnn {

// Returns the fine part of each vertex, a byte each: METIS's recursive
// bisection numbers them, so neighbouring numbers are close in the graph. Takes
// about 90 bytes for each entry of the undirected graph, in a process of its
// own (own_process.h). Equal graphs and weights give equal parts.
//
// InvalidArgument, with need and have: the graph is beyond 32 bits, or memory
// is too small; or, naming file and element, the dataset has changed.
// ResourceExhausted: the process ran out of memory, or was killed. Otherwise
// returns the error of `stage`.
absl::StatusOr<std::string> MetisParts(const CscView& graph,
                                       const BookWeights& weights,
                                       StageCallback stage);

}  // namespace fgnn

#endif  // FGNN_SHARED_GRAPH_BOOK_MAKING_METIS_PARTS_H_
