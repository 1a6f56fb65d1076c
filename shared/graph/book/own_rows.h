// The index of a host folder's rows: which vertices it has, and where.
#ifndef FGNN_SHARED_GRAPH_BOOK_OWN_ROWS_H_
#define FGNN_SHARED_GRAPH_BOOK_OWN_ROWS_H_

#include <bit>
#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "shared/base/types.h"
#include "shared/graph/book/partition_book.h"
#include "shared/graph/dataset.h"
#include "shared/graph/host_rows.h"

namespace fgnn {

// The rows of one owner in the order of their global ids. Takes 3 N / 16 bytes
// for N vertices, and one pass over the book to make. Both reads cost one or
// two cache lines. Immutable, safe to read from any thread.
class OwnRows {
 public:
  // Copies what it needs of the book. host.book is not looked at.
  OwnRows(const PartitionBook& book, const HostRows& host);
  // The rows that a host folder has. InvalidArgument: features.npy has more or
  // fewer than the book says.
  static absl::StatusOr<OwnRows> Open(const Dataset& dataset,
                                      const PartitionBook& book);

  // Returns whether the owner has the row of v, which is below the book's
  // num_nodes().
  bool Has(GlobalId v) const {
    return ((owned_[v / kBits] >> (v % kBits)) & 1) != 0;
  }
  // Returns the number of own vertices below v: the row of v, which Has(v).
  uint64_t RowOf(GlobalId v) const {
    const uint64_t below = (uint64_t{1} << (v % kBits)) - 1;
    return before_[v / kBits] +
           static_cast<uint64_t>(std::popcount(owned_[v / kBits] & below));
  }
  uint64_t num_rows() const { return num_rows_; }

 private:
  static constexpr uint64_t kBits = 64;  // Vertices of an element of owned_.

  std::vector<uint64_t> owned_;   // [N / 64, up] bits of own vertices.
  std::vector<uint32_t> before_;  // Own vertices before each element of owned_.
  uint64_t num_rows_ = 0;
};

// Checks the book and the rows of a host folder; OK for any other. Errors:
// those of PartitionBook::Open() and OwnRows::Open().
absl::Status CheckHostFolder(const Dataset& dataset);

}  // namespace fgnn

#endif  // FGNN_SHARED_GRAPH_BOOK_OWN_ROWS_H_
