#include "shared/graph/book/making/book_parts.h"

#include <string>

#include "shared/base/status.h"
#include "shared/graph/book/making/metis_parts.h"
#include "shared/graph/book/making/streamed_parts.h"
#include "shared/graph/host_rows.h"

namespace fgnn {

absl::StatusOr<std::vector<uint8_t>> MakeBookParts(const Dataset& dataset,
                                                   BookMethod method,
                                                   const BookBalance& balance,
                                                   StageCallback stage) {
  std::string parts;
  // METIS leaves most parts of a tiny graph empty.
  if (method == BookMethod::kRandom || dataset.num_nodes() <= kFineParts) {
    parts = RandomParts(dataset.num_nodes());
  } else {
    FGNN_ASSIGN_OR_RETURN(const BookWeights weights,
                          ReadBookWeights(dataset, balance));
    if (method == BookMethod::kStream) FGNN_RETURN_IF_ERROR(stage("stream"));
    FGNN_ASSIGN_OR_RETURN(parts,
                          method == BookMethod::kStream
                              ? StreamedParts(dataset.graph(), weights)
                              : MetisParts(dataset.graph(), weights, stage));
  }
  return std::vector<uint8_t>(parts.begin(), parts.end());
}

absl::StatusOr<PartitionBook> MakeBook(const Dataset& dataset,
                                       BookMethod method,
                                       const BookBalance& balance,
                                       StageCallback stage) {
  FGNN_ASSIGN_OR_RETURN(const std::vector<uint8_t> parts,
                        MakeBookParts(dataset, method, balance, stage));
  FGNN_RETURN_IF_ERROR(PartitionBook::Save(dataset, parts));
  return PartitionBook::Open(dataset);
}

}  // namespace fgnn
