// fgnn dataset import csv.
#include <cmath>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "shared/base/status.h"
#include "tools/dataset/building/vertex_numbering.h"
#include "tools/dataset/importing/csv_nodes.h"
#include "tools/dataset/importing/csv_table.h"
#include "tools/dataset/importing/import.h"
#include "tools/dataset/importing/import_target.h"
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
        target_(target) {}

  absl::Status Read() {
    FGNN_RETURN_IF_ERROR(ChooseColumns());
    FGNN_RETURN_IF_ERROR(
        target_.BeginEdges(weight_.has_value(), table_.bytes_in_all()));
    FGNN_RETURN_IF_ERROR(
        table_.ForEachRecord("reading edges", target_,
                             [this](absl::Span<const std::string_view> fields) {
                               return AddRecord(fields);
                             }));
    return Annotate(numbering_.CheckDense(target_.num_edges_added()),
                    table_.what());
  }

 private:
  absl::Status ChooseColumns() {
    FGNN_ASSIGN_OR_RETURN(
        from_, table_.Column(source_.source_column, "--source-column"));
    FGNN_ASSIGN_OR_RETURN(
        to_, table_.Column(source_.destination_column, "--destination-column"));
    if (!source_.weight_column.empty()) {
      FGNN_ASSIGN_OR_RETURN(
          weight_, table_.Column(source_.weight_column, "--weight-column"));
    }
    LeaveOutOthers();
    return absl::OkStatus();
  }

  void LeaveOutOthers() {
    std::vector<std::string> others;
    for (size_t i = 0; i < table_.header().size(); ++i) {
      if (i != from_ && i != to_ && i != weight_) {
        others.push_back(table_.header()[i]);
      }
    }
    target_.LeaveOut(
        absl::StrCat(table_.what(), ": left out, edges have no such data"),
        others);
  }

  absl::Status AddRecord(absl::Span<const std::string_view> fields) {
    FGNN_ASSIGN_OR_RETURN(const GlobalId from,
                          numbering_.Number(fields[from_]));
    FGNN_ASSIGN_OR_RETURN(const GlobalId to, numbering_.Number(fields[to_]));
    float weight = 1.0F;
    if (weight_.has_value() && (!ParseNumber(fields[*weight_], &weight) ||
                                !(weight >= 0) || std::isinf(weight))) {
      return absl::InvalidArgumentError(
          absl::StrCat("weight '", std::string(fields[*weight_]),
                       "' is not a finite number of 0 or more; mend it or drop "
                       "--weight-column"));
    }
    return target_.AddEdge(from, to, weight);
  }

  const CsvSource& source_;
  CsvTable table_;
  VertexNumbering& numbering_;
  ImportTarget& target_;
  size_t from_ = 0;
  size_t to_ = 0;
  std::optional<size_t> weight_;
};

VertexNumbering::Kind KindOf(const CsvSource& source) {
  if (!source.nodes.empty()) return VertexNumbering::Kind::kKnownNames;
  return source.string_ids ? VertexNumbering::Kind::kNames
                           : VertexNumbering::Kind::kIntegers;
}

}  // namespace

absl::StatusOr<ImportSummary> ImportCsv(const CsvSource& source,
                                        const ImportOptions& options) {
  FGNN_ASSIGN_OR_RETURN(CsvTable edges,
                        CsvTable::Open(source.edges, source.separator));
  FGNN_ASSIGN_OR_RETURN(
      const std::unique_ptr<ImportTarget> target,
      ImportTarget::Create(options,
                           absl::StrCat("csv ", source.edges.string())));
  VertexNumbering numbering(KindOf(source));
  if (!source.nodes.empty()) {
    FGNN_RETURN_IF_ERROR(ReadCsvNodes(source, numbering, *target));
    target->VouchForNodes(numbering.num_nodes());
  }
  FGNN_RETURN_IF_ERROR(
      EdgesReader(source, std::move(edges), numbering, *target).Read());
  if (numbering.has_names()) {
    const StringIds& names = numbering.names();
    FGNN_RETURN_IF_ERROR(
        target->WriteLines("names.txt", names.size(),
                           [&names](uint64_t v) { return names.text(v); }));
  }
  return target->Finish(numbering.num_nodes());
}

}  // namespace fgnn
