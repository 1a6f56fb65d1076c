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
#include "tools/dataset/csv_nodes.h"
#include "tools/dataset/delimited_text.h"
#include "tools/dataset/import.h"
#include "tools/dataset/import_target.h"
#include "tools/dataset/number_text.h"
#include "tools/dataset/vertex_numbering.h"

namespace fgnn {
namespace {

constexpr uint64_t kProgressEdges = 4096;

class EdgesReader {
 public:
  EdgesReader(const CsvSource& source, DelimitedReader records,
              VertexNumbering& numbering, ImportTarget& target)
      : source_(source),
        records_(std::move(records)),
        numbering_(numbering),
        target_(target) {}

  absl::Status Read() {
    FGNN_RETURN_IF_ERROR(ReadHeader());
    const LineReader& lines = records_.lines();
    FGNN_RETURN_IF_ERROR(
        target_.BeginEdges(weight_.has_value(), lines.bytes_in_all()));
    for (;;) {
      FGNN_ASSIGN_OR_RETURN(const bool more, records_.Next());
      if (!more) break;
      FGNN_RETURN_IF_ERROR(records_.ExpectFields(num_fields_));
      if (absl::Status status = AddRecord(); !status.ok()) {
        return Annotate(status, records_.Place());
      }
      if (target_.num_edges_added() % kProgressEdges == 0) {
        target_.Progress("reading edges", lines.bytes_done(),
                         lines.bytes_in_all());
      }
    }
    return Annotate(numbering_.CheckDense(target_.num_edges_added()),
                    lines.what());
  }

 private:
  absl::Status ReadHeader() {
    const std::string& what = records_.lines().what();
    FGNN_ASSIGN_OR_RETURN(const bool more, records_.Next());
    if (!more) {
      return absl::InvalidArgumentError(
          absl::StrCat(what, ": is empty; a header row is expected"));
    }
    std::vector<std::string> header;
    for (const std::string_view field : records_.fields()) {
      header.emplace_back(TrimBlanks(field));
    }
    num_fields_ = header.size();
    FGNN_ASSIGN_OR_RETURN(from_, FindColumn(header, source_.source_column, what,
                                            "--source-column"));
    FGNN_ASSIGN_OR_RETURN(to_, FindColumn(header, source_.destination_column,
                                          what, "--destination-column"));
    if (source_.weight_column.empty()) return absl::OkStatus();
    FGNN_ASSIGN_OR_RETURN(weight_, FindColumn(header, source_.weight_column,
                                              what, "--weight-column"));
    return absl::OkStatus();
  }

  absl::Status AddRecord() {
    const absl::Span<const std::string_view> fields = records_.fields();
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
  DelimitedReader records_;
  VertexNumbering& numbering_;
  ImportTarget& target_;
  size_t num_fields_ = 0;
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
  FGNN_ASSIGN_OR_RETURN(DelimitedReader edges,
                        DelimitedReader::Open(source.edges, source.separator));
  FGNN_ASSIGN_OR_RETURN(
      const std::unique_ptr<ImportTarget> target,
      ImportTarget::Create(options,
                           absl::StrCat("csv ", source.edges.string())));
  VertexNumbering numbering(KindOf(source));
  if (!source.nodes.empty()) {
    FGNN_RETURN_IF_ERROR(ReadCsvNodes(source, numbering, *target));
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
