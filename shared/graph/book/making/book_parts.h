// Makes a partition book.
#ifndef FGNN_SHARED_GRAPH_BOOK_MAKING_BOOK_PARTS_H_
#define FGNN_SHARED_GRAPH_BOOK_MAKING_BOOK_PARTS_H_

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "shared/graph/book/making/book_weights.h"
#include "shared/graph/book/making/own_process.h"
#include "shared/graph/book/partition_book.h"
#include "shared/graph/dataset.h"

namespace fgnn {

enum class BookMethod : uint8_t { kMetis, kStream, kRandom };

// Returns the fine part of each vertex, for PartitionBook::Save(). A graph of
// kFineParts vertices or fewer is cut by kRandom. Errors: those of MetisParts()
// and StreamedParts(), and of `stage`.
absl::StatusOr<std::vector<uint8_t>> MakeBookParts(const Dataset& dataset,
                                                   BookMethod method,
                                                   const BookBalance& balance,
                                                   StageCallback stage);
// Makes the parts, saves the book, and opens it. Errors: those of
// MakeBookParts(), PartitionBook::Save() and Open().
absl::StatusOr<PartitionBook> MakeBook(const Dataset& dataset,
                                       BookMethod method,
                                       const BookBalance& balance,
                                       StageCallback stage);

}  // namespace fgnn

#endif  // FGNN_SHARED_GRAPH_BOOK_MAKING_BOOK_PARTS_H_
