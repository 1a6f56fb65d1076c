#include "shared/graph/book/own_rows.h"

#include <algorithm>
#include <optional>
#include <string>

#include "absl/strings/str_cat.h"
#include "shared/base/status.h"

namespace fgnn {

OwnRows::OwnRows(const PartitionBook& book, const HostRows& host) {
  const uint32_t begin = FirstPartOf(host.owner, host.owners);
  const uint32_t end = FirstPartOf(host.owner + 1, host.owners);
  const uint64_t num_nodes = book.num_nodes();
  owned_.reserve((num_nodes + kBits - 1) / kBits);
  before_.reserve(owned_.capacity());
  for (uint64_t first = 0; first < num_nodes; first += kBits) {
    uint64_t owned = 0;
    const uint64_t count = std::min(kBits, num_nodes - first);
    for (uint64_t bit = 0; bit < count; ++bit) {
      const uint32_t part = book.PartOf(static_cast<GlobalId>(first + bit));
      owned |= static_cast<uint64_t>(part >= begin && part < end) << bit;
    }
    owned_.push_back(owned);
    before_.push_back(static_cast<uint32_t>(num_rows_));
    num_rows_ += static_cast<uint64_t>(std::popcount(owned));
  }
}

absl::StatusOr<OwnRows> OwnRows::Open(const Dataset& dataset,
                                      const PartitionBook& book) {
  const HostRows host = dataset.host_rows().value_or(HostRows());
  OwnRows rows(book, host);
  if (rows.num_rows() == dataset.features().rows) return rows;
  return absl::InvalidArgumentError(
      absl::StrCat(dataset.feature_file().path.string(), ": has ",
                   dataset.features().rows, " rows, but owner ", host.owner,
                   " of ", host.owners, " has ", rows.num_rows(),
                   " vertices in ", kBookFile, "; ", HowToCut(host.owners)));
}

absl::Status CheckHostFolder(const Dataset& dataset) {
  if (!dataset.host_rows().has_value()) return absl::OkStatus();
  FGNN_ASSIGN_OR_RETURN(const PartitionBook book, PartitionBook::Open(dataset));
  return OwnRows::Open(dataset, book).status();
}

}  // namespace fgnn
