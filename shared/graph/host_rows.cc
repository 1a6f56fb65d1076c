#include "shared/graph/host_rows.h"

#include "absl/strings/str_cat.h"

namespace fgnn {

std::string Describe(const HostRows& rows) {
  return absl::StrCat("the rows of owner ", rows.owner, " of ", rows.owners,
                      ", book ", absl::Hex(rows.book, absl::kZeroPad16));
}

std::string HowToCut(uint32_t owners) {
  return absl::StrCat(
      "cut the folders of all hosts again with 'fgnn dataset partition DIR "
      "--hosts ",
      owners, " --out DIR2'");
}

}  // namespace fgnn
