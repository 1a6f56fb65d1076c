// Which rows of a dataset's features a folder has.
#ifndef FGNN_SHARED_GRAPH_HOST_ROWS_H_
#define FGNN_SHARED_GRAPH_HOST_ROWS_H_

#include <cstdint>
#include <optional>
#include <string>

#include "absl/types/span.h"

namespace fgnn {

// Name of the file of a host folder's book.
inline constexpr char kBookFile[] = "book.bin";

// Fine parts of a partition book. One book serves any number of owners.
inline constexpr uint32_t kFineParts = 64;
// Most owners of a dataset's rows: each has a fine part.
inline constexpr uint32_t kMostOwners = kFineParts;

// Owner `owner` of `owners`, in [1, kMostOwners], has the fine parts from
// FirstPartOf(owner, owners) to FirstPartOf(owner + 1, owners).
constexpr uint32_t FirstPartOf(uint32_t owner, uint32_t owners) {
  return kFineParts * owner / owners;
}
// Returns the owner of a fine part, in [0, owners).
constexpr uint32_t OwnerOfPart(uint32_t part, uint32_t owners) {
  return ((part + 1) * owners - 1) / kFineParts;
}

// The rows of one owner of a partition book.
struct HostRows {
  uint64_t book = 0;    // PartitionBook::key(); 0: the folder has all rows.
  uint32_t owners = 1;  // Number of owners, in [1, kMostOwners].
  uint32_t owner = 0;   // Index of the owner, in [0, owners).

  bool is_whole() const { return book == 0; }
  friend bool operator==(const HostRows&, const HostRows&) = default;
};

// Returns "the rows of owner 1 of 4, book 0123456789abcdef".
std::string Describe(const HostRows& rows);
// Returns the first rows that none of these hosts of one book has; nullopt:
// they have all rows between them, or there is no host.
std::optional<HostRows> MissingRows(absl::Span<const HostRows> hosts);
// Returns the way out of what is wrong with folders of so many owners: "cut the
// folders of all hosts again with 'fgnn dataset partition ...'".
std::string HowToCut(uint32_t owners);

}  // namespace fgnn

#endif  // FGNN_SHARED_GRAPH_HOST_ROWS_H_
