#include "tools/dataset/importing/feature_store.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "absl/strings/str_cat.h"
#include "shared/base/status.h"
#include "shared/base/units.h"

namespace fgnn {
namespace {

constexpr char kFeaturesFile[] = "features.npy";

}  // namespace

std::string DescribeFill(GapFill fill, double mean) {
  return fill.kind == GapFill::Kind::kMean
             ? absl::StrCat("filled with the mean ", mean)
             : absl::StrCat("filled with ", fill.value);
}

absl::Status FeatureStore::Begin(uint64_t columns, std::string what) {
  what_ = std::move(what);
  FGNN_ASSIGN_OR_RETURN(
      sink_, FeatureSink::Create(writer_.folder() / kFeaturesFile, columns,
                                 options_.feature_type, options_.feature_norm));
  if (options_.fill.kind == GapFill::Kind::kMean) {
    FGNN_ASSIGN_OR_RETURN(
        table_, FeatureTable::Create(writer_.folder() / ".features", columns));
  } else {
    columns_.resize(columns);
  }
  return absl::OkStatus();
}

absl::Status FeatureStore::Append(absl::Span<const float> row) {
  const uint64_t vertex = num_rows_++;
  if (table_.has_value()) return table_->AppendRow(row);
  if (std::none_of(row.begin(), row.end(),
                   [](float value) { return std::isnan(value); })) {
    return sink_->AppendRow(row);
  }
  filled_.assign(row.begin(), row.end());
  for (size_t i = 0; i < row.size(); ++i) {
    if (!std::isnan(row[i])) continue;
    filled_[i] = options_.fill.value;
    if (columns_[i].num_gaps++ == 0) columns_[i].first_gap = vertex;
  }
  return sink_->AppendRow(filled_);
}

void FeatureStore::AddTable(FeatureTable table, std::vector<size_t> chosen,
                            uint64_t first_vertex) {
  tables_.push_back({std::move(table), std::move(chosen), first_vertex});
}

uint64_t FeatureStore::rows() const {
  uint64_t rows = num_rows_;
  for (const Part& part : tables_) {
    rows = std::max(rows, part.first_vertex + part.table.num_rows());
  }
  return rows;
}

absl::Status FeatureStore::Finish(uint64_t num_nodes, ImportSummary* summary) {
  if (empty()) return absl::OkStatus();
  FGNN_RETURN_IF_ERROR(what_.empty() ? FinishTables(num_nodes, summary)
                                     : FinishRows(num_nodes, summary));
  summary->feature_columns = sink_->columns();
  return sink_->Close();
}

absl::Status FeatureStore::AccountForGaps(ImportSummary* summary) const {
  const std::vector<NumberColumn>& columns =
      table_.has_value() ? table_->columns() : columns_;
  const std::string source = SourceName(what_);
  uint64_t plain = 0;
  for (size_t c = 0; c < columns.size(); ++c) {
    const NumberColumn& column = columns[c];
    if (column.num_gaps == 0) {
      ++plain;
      continue;
    }
    if (options_.fill.kind == GapFill::Kind::kRefuse) {
      return absl::InvalidArgumentError(absl::StrCat(
          what_, ": feature column ", c, " of vertex ", column.first_gap,
          " is nan, and ", FormatCount(column.num_gaps), " of ",
          FormatCount(num_rows_),
          " vertices have no number there; --fill 0 or --fill mean fills "
          "them"));
    }
    if (options_.fill.kind == GapFill::Kind::kMean &&
        column.num_gaps == num_rows_) {
      return absl::InvalidArgumentError(
          absl::StrCat(what_, ": feature column ", c,
                       " has no number at all, so that there "
                       "is no mean; leave it out, or pass --fill 0"));
    }
    AddColumn({source, absl::StrCat("column ", c), 1, "feature",
               column.num_gaps, absl::StrCat("nan ", column.num_gaps),
               absl::StrCat("vertex ", column.first_gap),
               DescribeFill(options_.fill, column.mean(num_rows_))},
              summary->account);
  }
  if (plain > 0) {
    AddColumn({.source = source,
               .names = absl::StrCat(plain, " columns"),
               .count = plain,
               .use = "feature"},
              summary->account);
  }
  return absl::OkStatus();
}

absl::Status FeatureStore::FinishRows(uint64_t num_nodes,
                                      ImportSummary* summary) {
  if (num_rows_ != num_nodes) {
    return absl::InvalidArgumentError(
        absl::StrCat(what_, ": features of ", FormatCount(num_rows_),
                     " vertices, but the graph has ", FormatCount(num_nodes),
                     "; they must be of the same graph"));
  }
  FGNN_RETURN_IF_ERROR(AccountForGaps(summary));
  summary->account.tables.push_back({.source = SourceName(what_),
                                     .unit = "rows",
                                     .read = num_rows_,
                                     .product = "rows of features",
                                     .made = num_nodes});
  if (!table_.has_value()) return absl::OkStatus();
  std::vector<size_t> all(sink_->columns());
  std::iota(all.begin(), all.end(), size_t{0});
  return Annotate(table_->WriteTo(all, 0, options_.fill, *sink_), what_);
}

absl::Status FeatureStore::FinishTables(uint64_t num_nodes,
                                        ImportSummary* summary) {
  uint64_t columns = 0;
  for (const Part& part : tables_) columns += part.chosen.size();
  FGNN_ASSIGN_OR_RETURN(
      sink_, FeatureSink::Create(writer_.folder() / kFeaturesFile, columns,
                                 options_.feature_type, options_.feature_norm));
  const std::vector<float> zeros(columns);
  size_t first = 0;
  for (Part& part : tables_) {
    while (sink_->rows() < part.first_vertex) {
      FGNN_RETURN_IF_ERROR(sink_->AppendRow(zeros));
    }
    FGNN_RETURN_IF_ERROR(
        part.table.WriteTo(part.chosen, first, options_.fill, *sink_));
    first += part.chosen.size();
  }
  const uint64_t num_added = num_nodes - std::min(num_nodes, sink_->rows());
  for (uint64_t v = 0; v < num_added; ++v) {
    FGNN_RETURN_IF_ERROR(sink_->AppendRow(zeros));
  }
  if (num_added > 0) {
    summary->notes.push_back(
        absl::StrCat(FormatCount(num_added),
                     " vertices are in no nodes file: their "
                     "features are 0"));
  }
  return absl::OkStatus();
}

}  // namespace fgnn
