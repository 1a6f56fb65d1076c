// Which rows of features a host folder has, and how many of the others a job
// there is likely to need.
#ifndef FGNN_TOOLS_FGNN_REPORTS_OWNER_REPORT_H_
#define FGNN_TOOLS_FGNN_REPORTS_OWNER_REPORT_H_

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "nlohmann/json.hpp"
#include "shared/graph/host_rows.h"

namespace fgnn {

struct OwnerReport {
  HostRows rows;
  uint64_t num_own = 0;    // Number of rows of the folder.
  uint64_t num_nodes = 0;  // Number of rows of all hosts.
  double local_edges = 0;  // Share of all edges within an owner.
};

// Reads the topology once. Returns nullopt for a folder that has all rows.
// Errors as those of Dataset::Open(), PartitionBook::Open() and CountByParts().
absl::StatusOr<std::optional<OwnerReport>> ReportOwner(
    const std::filesystem::path& dataset);

nlohmann::ordered_json ToJson(const OwnerReport& report);
std::string ToText(const OwnerReport& report);

}  // namespace fgnn

#endif  // FGNN_TOOLS_FGNN_REPORTS_OWNER_REPORT_H_
