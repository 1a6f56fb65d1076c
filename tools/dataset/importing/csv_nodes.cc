#include "tools/dataset/importing/csv_nodes.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "shared/base/status.h"
#include "shared/graph/dataset_names.h"
#include "tools/dataset/importing/line_account.h"
#include "tools/dataset/reading/number_text.h"

namespace fgnn {
namespace {

// Returns the place of the column that the user named, or of the one of the
// usual name; nullopt: there is none of that.
absl::StatusOr<std::optional<size_t>> FindOptional(const CsvTable& table,
                                                   const std::string& named,
                                                   const std::string& usual,
                                                   const std::string& flag) {
  if (named.empty() && !table.Has(usual)) return std::nullopt;
  return table.Column(named.empty() ? usual : named, flag);
}

bool Holds(const std::vector<size_t>& places, size_t place) {
  return std::find(places.begin(), places.end(), place) != places.end();
}

}  // namespace

absl::StatusOr<CsvNodes::Columns> CsvNodes::ChooseColumns(
    const CsvTable& table, const std::string& kind) const {
  Columns columns;
  std::string id = source_.id_column;
  if (id.empty()) id = !kind.empty() && table.Has(kind) ? kind : "id";
  FGNN_ASSIGN_OR_RETURN(columns.id, table.Column(id, "--id-column"));
  FGNN_RETURN_IF_ERROR(ChooseLabels(table, columns));
  if (source_.bipartite && !table.Has(source_.split_column)) {
    FGNN_ASSIGN_OR_RETURN(columns.split, FindOptional(table, "", "split", ""));
  } else {
    FGNN_ASSIGN_OR_RETURN(
        columns.split,
        FindOptional(table, source_.split_column, "split", "--split-column"));
  }
  return columns;
}

absl::Status CsvNodes::ChooseLabels(const CsvTable& table,
                                    Columns& columns) const {
  const std::vector<std::string>& named = source_.label_columns;
  if (named.empty()) {
    FGNN_ASSIGN_OR_RETURN(const std::optional<size_t> usual,
                          FindOptional(table, "", "label", "--label-column"));
    if (usual.has_value()) columns.labels.push_back(*usual);
    return absl::OkStatus();
  }
  // One of two kinds of vertices may have none of the labels.
  const bool has_any = std::any_of(
      named.begin(), named.end(),
      [&table](const std::string& name) { return table.Has(name); });
  if (source_.bipartite && !has_any) return absl::OkStatus();
  for (const std::string& name : named) {
    FGNN_ASSIGN_OR_RETURN(const size_t place,
                          table.Column(name, "--label-column"));
    if (Holds(columns.labels, place)) {
      return absl::InvalidArgumentError(absl::StrCat(
          "--label-column names '", name, "' twice; name it once"));
    }
    columns.labels.push_back(place);
  }
  return absl::OkStatus();
}

absl::Status CsvNodes::BeginLabels(const CsvTable& table,
                                   const Columns& columns) {
  if (columns.labels.empty()) return absl::OkStatus();
  if (labels_.has_value()) {
    labels_->SetPlaces(columns.labels, table.what());
    return absl::OkStatus();
  }
  std::vector<CsvColumn> chosen;
  for (const size_t place : columns.labels) {
    chosen.push_back({place, table.NameOf(place)});
  }
  labels_.emplace(std::move(chosen), table.what(), target_);
  FGNN_RETURN_IF_ERROR(labels_->Begin());
  return labels_->AddNone(numbering_.num_nodes());
}

absl::StatusOr<std::vector<size_t>> CsvNodes::NumberPlaces(
    const CsvTable& table, const Columns& columns) const {
  std::vector<size_t> places;
  for (const std::string& name : source_.feature_columns) {
    if (source_.bipartite && !table.Has(name)) continue;
    FGNN_ASSIGN_OR_RETURN(const size_t place,
                          table.Column(name, "--feature-columns"));
    places.push_back(place);
  }
  if (!source_.feature_columns.empty()) return places;
  for (size_t i = 0; i < table.header().size(); ++i) {
    if (i == columns.id || i == columns.split || Holds(columns.labels, i)) {
      continue;
    }
    places.push_back(i);
  }
  return places;
}

absl::Status CsvNodes::Read(const std::filesystem::path& path,
                            const std::string& kind) {
  FGNN_ASSIGN_OR_RETURN(CsvTable table, CsvTable::Open(path, source_.separator,
                                                       source_.comments));
  FGNN_ASSIGN_OR_RETURN(const Columns columns, ChooseColumns(table, kind));
  FGNN_RETURN_IF_ERROR(BeginLabels(table, columns));
  if (columns.split.has_value()) split_what_ = table.what();
  unsplit_ = {};
  FGNN_ASSIGN_OR_RETURN(const std::vector<size_t> places,
                        NumberPlaces(table, columns));
  FGNN_ASSIGN_OR_RETURN(
      CsvNumbers numbers,
      CsvNumbers::Create(places, !source_.feature_columns.empty(), table,
                         target_));
  const uint64_t first = numbering_.num_nodes();
  const auto add =
      [&](absl::Span<const std::string_view> fields) -> absl::Status {
    FGNN_RETURN_IF_ERROR(AddRecord(fields, columns, table, kind));
    return numbers.Add(fields);
  };
  FGNN_RETURN_IF_ERROR(table.ForEachRecord("reading vertices", target_, add));
  Account(table, columns, numbering_.num_nodes() - first);
  FGNN_ASSIGN_OR_RETURN(const std::vector<std::string> names,
                        numbers.Finish(first));
  for (const std::string& name : names) {
    feature_names_.push_back(kind.empty() ? name
                                          : absl::StrCat(kind, ":", name));
  }
  return absl::OkStatus();
}

absl::Status CsvNodes::AddRecord(absl::Span<const std::string_view> fields,
                                 const Columns& columns, const CsvTable& table,
                                 const std::string& kind) {
  const std::string_view id = fields[columns.id];
  if (table.IsMissing(columns.id)) {
    return MissingId(id, table.header()[columns.id]);
  }
  FGNN_ASSIGN_OR_RETURN(const GlobalId vertex, numbering_.Declare(id, kind));
  if (labels_.has_value()) {
    FGNN_RETURN_IF_ERROR(columns.labels.empty() ? labels_->AddNone(1)
                                                : labels_->Add(fields, table));
  }
  if (!columns.split.has_value()) return absl::OkStatus();
  return AddToSplit(fields[*columns.split], vertex, table, *columns.split);
}

absl::Status CsvNodes::AddToSplit(std::string_view text, GlobalId vertex,
                                  const CsvTable& table, size_t column) {
  const std::string_view name = TrimBlanks(text);
  if (table.IsMissing(column)) {
    unsplit_.Add(name, [&table] { return table.Line(); });
  } else if (name == "train") {
    train_.push_back(vertex);
  } else if (name == "valid" || name == "val" || name == "validation") {
    valid_.push_back(vertex);
  } else if (name == "test") {
    test_.push_back(vertex);
  } else {
    return absl::InvalidArgumentError(absl::StrCat(
        "column '", table.header()[column], "' holds '", std::string(name),
        "'; it may hold train, valid, test or nothing"));
  }
  return absl::OkStatus();
}

void CsvNodes::Account(const CsvTable& table, const Columns& columns,
                       uint64_t num_vertices) {
  AccountTable lines = table.AccountForLines(target_);
  lines.product = "vertices";
  lines.made = num_vertices;
  const std::string source = lines.source;
  target_.account().tables.push_back(std::move(lines));
  AddColumn({.source = source, .names = table.NameOf(columns.id), .use = "id"},
            target_.account());
  if (!columns.split.has_value()) return;
  AddColumn({.source = source,
             .names = table.NameOf(*columns.split),
             .use = "split",
             .missing = unsplit_.count(),
             .words = unsplit_.Words(),
             .first_missing = unsplit_.first()},
            target_.account());
}

absl::Status CsvNodes::Finish(uint64_t num_nodes) {
  if (!split_what_.empty()) {
    target_.SetSplit("train", std::move(train_), split_what_);
    target_.SetSplit("valid", std::move(valid_), split_what_);
    target_.SetSplit("test", std::move(test_), split_what_);
  }
  if (!feature_names_.empty()) {
    FGNN_RETURN_IF_ERROR(target_.writer().WriteLines(
        kFeatureNamesFile, feature_names_.size(),
        [this](uint64_t c) -> std::string_view { return feature_names_[c]; }));
  }
  if (!labels_.has_value()) return absl::OkStatus();
  FGNN_RETURN_IF_ERROR(labels_->AddNone(num_nodes - labels_->num_vertices()));
  return labels_->Finish();
}

}  // namespace fgnn
