#include "shared/graph/book/own_rows.h"

#include <algorithm>

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

}  // namespace fgnn
