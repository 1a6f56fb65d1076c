#include "shared/graph/host_rows.h"

#include <algorithm>

#include "absl/strings/str_cat.h"

namespace fgnn {

std::string Describe(const HostRows& rows) {
  return absl::StrCat("the rows of owner ", rows.owner, " of ", rows.owners,
                      ", book ", absl::Hex(rows.book, absl::kZeroPad16));
}

std::optional<HostRows> MissingRows(absl::Span<const HostRows> hosts) {
  if (hosts.empty()) return std::nullopt;
  for (uint32_t owner = 0; owner < hosts.front().owners; ++owner) {
    if (std::none_of(hosts.begin(), hosts.end(), [&](const HostRows& host) {
          return host.is_whole() || host.owner == owner;
        })) {
      HostRows missing = hosts.front();
      missing.owner = owner;
      return missing;
    }
  }
  return std::nullopt;
}

std::string HowToCut(uint32_t owners) {
  return absl::StrCat(
      "cut the folders of all hosts again with 'fgnn dataset partition DIR "
      "--hosts ",
      owners, " --out DIR2'");
}

}  // namespace fgnn
