// fgnn dataset import csv.
#include <array>
#include <cmath>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "shared/base/status.h"
#include "shared/base/units.h"
#include "tools/dataset/building/vertex_numbering.h"
#include "tools/dataset/importing/csv_nodes.h"
#include "tools/dataset/importing/csv_table.h"
#include "tools/dataset/importing/end_columns.h"
#include "tools/dataset/importing/import.h"
#include "tools/dataset/importing/import_target.h"
#include "tools/dataset/importing/line_account.h"
#include "tools/dataset/reading/number_text.h"

namespace fgnn {
namespace {

class EdgesReader {
 public:
  EdgesReader(const CsvSource& source, CsvTable table,
              VertexNumbering& numbering, ImportTarget& target)
      : source_(source),
        table_(std::move(table)),
        numbering_(numbering),
        target_(target),
        shared_(source.source_column, source.destination_column,
                source.bipartite) {}

  absl::Status Read() {
    FGNN_RETURN_IF_ERROR(ChooseColumns());
    FGNN_RETURN_IF_ERROR(
        target_.BeginEdges(weight_.has_value(), table_.bytes_in_all()));
    FGNN_RETURN_IF_ERROR(
        table_.ForEachRecord("reading edges", target_,
                             [this](absl::Span<const std::string_view> fields) {
                               return AddRecord(fields);
                             }));
    shared_.NoteShared(target_);
    FGNN_RETURN_IF_ERROR(Account());
    return Annotate(numbering_.CheckDense(target_.num_edges_added()),
                    table_.what());
  }

 private:
  absl::Status ChooseColumns() {
    FGNN_ASSIGN_OR_RETURN(
        ends_[0], table_.Column(source_.source_column, "--source-column"));
    FGNN_ASSIGN_OR_RETURN(ends_[1], table_.Column(source_.destination_column,
                                                  "--destination-column"));
    if (!source_.weight_column.empty()) {
      FGNN_ASSIGN_OR_RETURN(
          weight_, table_.Column(source_.weight_column, "--weight-column"));
    }
    return absl::OkStatus();
  }

  // Adds the lines and the columns to the account.
  absl::Status Account() {
    AccountTable lines = table_.AccountForLines(target_);
    const std::string source = lines.source;
    target_.AccountForEdges(std::move(lines));
    const auto add = [&](size_t column, const char* use) {
      AddColumn({.source = source, .names = table_.NameOf(column), .use = use},
                target_.account());
    };
    add(ends_[0], "source");
    add(ends_[1], "destination");
    std::vector<std::string> others;
    for (size_t i = 0; i < table_.header().size(); ++i) {
      if (i == ends_[0] || i == ends_[1] || i == weight_) continue;
      others.push_back(table_.NameOf(i));
      add(i, "left out: edges have no such data");
    }
    target_.LeaveOut(
        absl::StrCat(table_.what(), ": left out, edges have no such data"),
        others);
    if (!weight_.has_value()) return absl::OkStatus();
    return target_.AccountForWeights(
        table_.what(), {.source = source,
                        .names = table_.NameOf(*weight_),
                        .use = "weight",
                        .missing = missing_weights_.count(),
                        .words = missing_weights_.Words(),
                        .first_missing = missing_weights_.first()});
  }

  absl::StatusOr<GlobalId> Number(absl::Span<const std::string_view> fields,
                                  size_t end) {
    const size_t column = ends_[end];
    if (table_.IsMissing(column)) {
      return MissingId(fields[column], table_.header()[column]);
    }
    return numbering_.Number(fields[column], shared_.kind(end));
  }

  absl::Status AddRecord(absl::Span<const std::string_view> fields) {
    FGNN_ASSIGN_OR_RETURN(const GlobalId from, Number(fields, 0));
    FGNN_ASSIGN_OR_RETURN(const GlobalId to, Number(fields, 1));
    shared_.Mark(from, to);
    if (!weight_.has_value()) return target_.AddEdge(from, to);
    const std::string_view text = fields[*weight_];
    if (table_.IsMissing(*weight_)) {
      missing_weights_.Add(text, [this] { return table_.Line(); });
      return target_.AddEdge(from, to, std::numeric_limits<float>::quiet_NaN());
    }
    float weight = 1.0F;
    if (!ParseNumber(text, &weight) || !(weight >= 0) || std::isinf(weight)) {
      return absl::InvalidArgumentError(
          absl::StrCat("weight '", std::string(text),
                       "' is not a finite number of 0 or more; mend it or drop "
                       "--weight-column"));
    }
    return target_.AddEdge(from, to, weight);
  }

  const CsvSource& source_;
  CsvTable table_;
  VertexNumbering& numbering_;
  ImportTarget& target_;
  EndColumns shared_;
  std::array<size_t, 2> ends_{};
  std::optional<size_t> weight_;
  MissingCount missing_weights_;
};

VertexNumbering::Kind KindOf(const CsvSource& source) {
  if (source.bipartite) return VertexNumbering::Kind::kNames;
  if (!source.nodes.empty()) return VertexNumbering::Kind::kKnownNames;
  return source.string_ids ? VertexNumbering::Kind::kNames
                           : VertexNumbering::Kind::kIntegers;
}

}  // namespace

absl::StatusOr<ImportSummary> ImportCsv(const CsvSource& source,
                                        const ImportOptions& options) {
  FGNN_ASSIGN_OR_RETURN(
      CsvTable edges,
      CsvTable::Open(source.edges, source.separator, source.comments));
  FGNN_ASSIGN_OR_RETURN(const std::vector<NodesOfKind> files,
                        NodesByKind(source));
  FGNN_ASSIGN_OR_RETURN(
      const std::unique_ptr<ImportTarget> target,
      ImportTarget::Create(options,
                           absl::StrCat("csv ", source.edges.string())));
  VertexNumbering numbering(KindOf(source));
  CsvNodes nodes(source, numbering, *target);
  for (const NodesOfKind& file : files) {
    FGNN_RETURN_IF_ERROR(nodes.Read(file.path, file.kind));
    numbering.Close(file.kind);
  }
  const uint64_t num_declared = numbering.num_nodes();
  const bool all_known = files.size() == (source.bipartite ? 2 : 1);
  if (all_known) {
    FGNN_RETURN_IF_ERROR(nodes.Finish(numbering.num_nodes()));
    target->VouchForNodes(numbering.num_nodes());
  }
  FGNN_RETURN_IF_ERROR(
      EdgesReader(source, std::move(edges), numbering, *target).Read());
  if (!all_known && !files.empty()) {
    FGNN_RETURN_IF_ERROR(nodes.Finish(numbering.num_nodes()));
    const uint64_t num_new = numbering.num_nodes() - num_declared;
    target->account().tables.push_back({.source = "ids of edges",
                                        .unit = "different ones",
                                        .read = num_new,
                                        .product = "vertices",
                                        .made = num_new});
  }
  if (numbering.has_names()) {
    const StringIds& names = numbering.names();
    FGNN_RETURN_IF_ERROR(target->writer().WriteLines(
        "names.txt", names.size(),
        [&names](uint64_t v) { return names.text(v); }));
  }
  std::vector<std::string> kinds;
  if (source.bipartite) {
    kinds = {source.source_column, source.destination_column};
  }
  return target->Finish(numbering.num_nodes(), std::move(kinds));
}

}  // namespace fgnn
