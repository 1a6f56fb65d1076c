#include "tools/dataset/importing/csv_table.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "shared/base/nearest.h"
#include "shared/base/status.h"
#include "tools/dataset/importing/line_account.h"
#include "tools/dataset/reading/number_text.h"

namespace fgnn {
namespace {

// Records between two reports: reading the clock costs as much as a short
// record.
constexpr uint64_t kProgressRecords = 1024;

// Returns the flag that would part a header of one field; empty: there is none.
std::string OtherSeparator(const std::vector<std::string>& header) {
  if (header.size() != 1) return "";
  const size_t found = header.front().find_first_of(",;\t|");
  if (found == std::string::npos) return "";
  const char separator = header.front()[found];
  return absl::StrCat("; is its separator another one? Pass --separator '",
                      separator == '\t' ? "\\t" : std::string(1, separator),
                      "'");
}

}  // namespace

absl::StatusOr<CsvTable> CsvTable::Open(const std::filesystem::path& path,
                                        char separator,
                                        const std::string& comments) {
  FGNN_ASSIGN_OR_RETURN(DelimitedReader records,
                        DelimitedReader::Open(path, separator, comments));
  CsvTable table(std::move(records));
  FGNN_ASSIGN_OR_RETURN(const bool more, table.records_.Next());
  if (!more) {
    return absl::InvalidArgumentError(
        absl::StrCat(table.what(), ": is empty; a header row is expected"));
  }
  for (const std::string_view field : table.records_.fields()) {
    table.header_.emplace_back(TrimBlanks(field));
  }
  table.headers_.Add(absl::StrJoin(table.header_, std::string(1, separator)),
                     [&table] { return table.Line(); });
  return table;
}

std::string CsvTable::NameOf(size_t column) const {
  std::string name = header_[column];
  std::replace(name.begin(), name.end(), '\n', ' ');
  return name;
}

AccountTable CsvTable::AccountForLines(ImportTarget& target) const {
  SkippedKinds skipped = records_.skipped();
  skipped.headers = headers_;
  return fgnn::AccountForLines(records_.lines(), skipped, target);
}

bool CsvTable::Has(const std::string& name) const {
  return std::find(header_.begin(), header_.end(), name) != header_.end();
}

absl::StatusOr<size_t> CsvTable::Column(const std::string& name,
                                        const std::string& flag) const {
  const auto found = std::find(header_.begin(), header_.end(), name);
  if (found != header_.end()) {
    return static_cast<size_t>(found - header_.begin());
  }
  const std::string nearest = NearestWord(name, header_);
  return absl::NotFoundError(absl::StrCat(
      records_.Place(), ": no column '", name, "'",
      nearest.empty() ? "" : absl::StrCat(" (did you mean '", nearest, "'?)"),
      "; it has ", absl::StrJoin(header_, ", "), "; choose with ", flag,
      OtherSeparator(header_),
      header_.front().starts_with('#') || header_.front().starts_with('%')
          ? "; --comment '#%' leaves comments out"
          : ""));
}

absl::Status CsvTable::ForEachRecord(
    std::string_view stage, ImportTarget& target,
    absl::FunctionRef<absl::Status(absl::Span<const std::string_view>)> add) {
  words_ = &target.options().missing;
  for (uint64_t record = 1;; ++record) {
    FGNN_ASSIGN_OR_RETURN(const bool more, records_.Next());
    if (!more) return absl::OkStatus();
    FGNN_RETURN_IF_ERROR(records_.ExpectFields(header_.size()));
    if (absl::Status status = add(records_.fields()); !status.ok()) {
      return Annotate(status, records_.Place());
    }
    if (record % kProgressRecords == 0) {
      target.Progress(stage, records_.lines().bytes_done(), bytes_in_all());
    }
  }
}

absl::Status ReadEdgePairs(const std::filesystem::path& path,
                           uint64_t num_nodes, const std::string& counted_in,
                           ImportTarget& target) {
  FGNN_ASSIGN_OR_RETURN(DelimitedReader records, DelimitedReader::Open(path));
  const LineReader& lines = records.lines();
  // A compressed file has more text than it has bytes.
  const uint64_t text_bytes =
      lines.bytes_in_all() * (path.extension() == ".gz" ? 2 : 1);
  FGNN_RETURN_IF_ERROR(target.BeginEdges(/*with_weights=*/false, text_bytes));
  for (;;) {
    FGNN_ASSIGN_OR_RETURN(const bool more, records.Next());
    if (!more) {
      target.AccountForEdges(AccountForLines(lines, records.skipped(), target));
      return absl::OkStatus();
    }
    FGNN_RETURN_IF_ERROR(records.ExpectFields(2));
    GlobalId ends[2] = {};
    for (size_t i = 0; i < 2; ++i) {
      FGNN_ASSIGN_OR_RETURN(const int64_t id, records.Integer(i));
      if (id < 0 || static_cast<uint64_t>(id) >= num_nodes) {
        return absl::InvalidArgumentError(
            absl::StrCat(records.Place(), ": vertex ", id, " where ",
                         counted_in, " says ", num_nodes, " vertices"));
      }
      ends[i] = static_cast<GlobalId>(id);
    }
    FGNN_RETURN_IF_ERROR(target.AddEdge(ends[0], ends[1]));
    if (target.num_edges_added() % kProgressRecords == 0) {
      target.Progress("reading edges", lines.bytes_done(),
                      lines.bytes_in_all());
    }
  }
}

}  // namespace fgnn
