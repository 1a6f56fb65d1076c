#include "tools/fgnn/reports/owner_report.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "shared/base/status.h"
#include "shared/base/units.h"
#include "shared/graph/book/book_figures.h"
#include "shared/graph/book/partition_book.h"
#include "shared/graph/dataset.h"

namespace fgnn {

absl::StatusOr<std::optional<OwnerReport>> ReportOwner(
    const std::filesystem::path& dataset) {
  FGNN_ASSIGN_OR_RETURN(const Dataset opened,
                        Dataset::Open(dataset, Validation::kShapes));
  const std::optional<HostRows> rows = opened.host_rows();
  if (!rows.has_value()) return std::nullopt;
  FGNN_ASSIGN_OR_RETURN(const PartitionBook book, PartitionBook::Open(opened));
  FGNN_ASSIGN_OR_RETURN(const BookCounts counts, CountByParts(opened, book));
  return OwnerReport{
      .rows = *rows,
      .num_own = opened.sizes().num_feature_rows,
      .num_nodes = opened.num_nodes(),
      .local_edges = FiguresOf(counts, rows->owners).local_edges};
}

nlohmann::ordered_json ToJson(const OwnerReport& report) {
  return {{"owner", report.rows.owner},
          {"owners", report.rows.owners},
          {"book", absl::StrCat(absl::Hex(report.rows.book, absl::kZeroPad16))},
          {"own_rows", report.num_own},
          {"rows", report.num_nodes},
          {"local_edges", report.local_edges}};
}

std::string ToText(const OwnerReport& report) {
  return absl::StrFormat(
      "this host has %s: %s of %s; %.1f %% of the edges lie within an owner, "
      "and what a batch needs beyond its own rows comes from other hosts\n",
      Describe(report.rows), FormatCount(report.num_own),
      FormatCount(report.num_nodes), 100 * report.local_edges);
}

}  // namespace fgnn
