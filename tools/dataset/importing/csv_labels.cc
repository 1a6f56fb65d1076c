#include "tools/dataset/importing/csv_labels.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "absl/strings/str_cat.h"
#include "shared/base/status.h"
#include "tools/dataset/building/table_size.h"
#include "tools/dataset/reading/number_text.h"

namespace fgnn {

CsvLabels::CsvLabels(std::vector<CsvColumn> columns, std::string what,
                     ImportTarget& target)
    : columns_(std::move(columns)),
      what_(std::move(what)),
      target_(target),
      form_(FormOf(columns_.size(), target.labels().kind())),
      row_(columns_.size()),
      missing_(columns_.size()) {}

CsvLabels::Form CsvLabels::FormOf(size_t num_columns, LabelKind kind) {
  if (num_columns == 0) return Form::kNone;
  if (num_columns > 1 || kind == LabelKind::kNumbers) return Form::kNumbers;
  return kind == LabelKind::kSets ? Form::kTextSets : Form::kTexts;
}

absl::Status CsvLabels::Begin() {
  if (form_ != Form::kNumbers) return absl::OkStatus();
  NameColumns();
  return Annotate(target_.labels().BeginNumbers(columns_.size(), what_,
                                                /*as_floats=*/false),
                  what_);
}

void CsvLabels::NameColumns() {
  std::vector<std::string> names;
  for (const CsvColumn& column : columns_) names.push_back(column.name);
  target_.labels().SetNames(std::move(names));
}

bool CsvLabels::CountMissing(size_t i, std::string_view text,
                             const CsvTable& table) {
  if (!table.IsMissing(columns_[i].place)) return false;
  missing_[i].Add(text, [&table] { return table.Line(); });
  return true;
}

absl::Status CsvLabels::Add(absl::Span<const std::string_view> fields,
                            const CsvTable& table) {
  if (form_ == Form::kNone) return absl::OkStatus();
  ++num_vertices_;
  if (form_ == Form::kNumbers) return AddNumbers(fields, table);
  const std::string_view text = fields[columns_[0].place];
  const bool is_missing = CountMissing(0, text, table);
  if (form_ == Form::kTextSets) {
    is_missing ? sets_.AddUnknown() : sets_.Add(text);
    return absl::OkStatus();
  }
  hold_separators_ = hold_separators_ ||
                     text.find(TextSets::kSeparator) != std::string_view::npos;
  is_missing ? texts_.AddNone() : texts_.Add(text);
  return absl::OkStatus();
}

absl::Status CsvLabels::AddNumbers(absl::Span<const std::string_view> fields,
                                   const CsvTable& table) {
  for (size_t i = 0; i < columns_.size(); ++i) {
    const std::string_view text = fields[columns_[i].place];
    double value = std::numeric_limits<double>::quiet_NaN();
    if (!CountMissing(i, text, table) &&
        (!ParseNumber(text, &value) || std::isnan(value))) {
      return absl::InvalidArgumentError(absl::StrCat(
          "column '", columns_[i].name, "' holds '", std::string(text),
          "', which is no number; choose other columns with --label-column, or "
          "name a word for missing values with --missing"));
    }
    row_[i] = static_cast<float>(value);
  }
  return target_.labels().AddNumbers(row_);
}

absl::Status CsvLabels::Finish() {
  if (form_ == Form::kTexts) FGNN_RETURN_IF_ERROR(FinishTexts());
  if (form_ == Form::kTextSets) FGNN_RETURN_IF_ERROR(FinishTextSets());
  Account();
  return absl::OkStatus();
}

void CsvLabels::Account() {
  for (size_t i = 0; i < columns_.size(); ++i) {
    AddColumn({.source = SourceName(what_),
               .names = columns_[i].name,
               .use = "label",
               .missing = missing_[i].count(),
               .words = missing_[i].Words(),
               .first_missing = missing_[i].first()},
              target_.account());
    missing_[i] = {};
  }
}

void CsvLabels::SetPlaces(absl::Span<const size_t> places, std::string what) {
  Account();
  for (size_t i = 0; i < columns_.size(); ++i) columns_[i].place = places[i];
  what_ = std::move(what);
}

absl::Status CsvLabels::AddNone(uint64_t num_vertices) {
  num_vertices_ += num_vertices;
  std::fill(row_.begin(), row_.end(), std::numeric_limits<float>::quiet_NaN());
  for (uint64_t v = 0; v < num_vertices; ++v) {
    if (form_ == Form::kNumbers) {
      FGNN_RETURN_IF_ERROR(target_.labels().AddNumbers(row_));
    } else if (form_ == Form::kTextSets) {
      sets_.AddUnknown();
    } else {
      texts_.AddNone();
    }
  }
  return absl::OkStatus();
}

absl::Status CsvLabels::FinishTexts() {
  LabelStore& store = target_.labels();
  if (store.kind() == LabelKind::kAuto && texts_.HoldNumbers()) {
    NameColumns();
    FGNN_RETURN_IF_ERROR(store.BeginNumbers(1, what_, /*as_floats=*/true));
    for (const float value : texts_.TakeNumbers()) {
      FGNN_RETURN_IF_ERROR(Annotate(store.AddNumbers({&value, 1}), what_));
    }
    return absl::OkStatus();
  }
  if (store.kind() == LabelKind::kAuto && hold_separators_) {
    target_.Note(
        absl::StrCat(what_, ": column '", columns_[0].name,
                     "' holds ';', and its texts are taken for one class each; "
                     "--labels-are sets takes them for sets of classes"));
  }
  ClassLabels::Result classes = texts_.Take(/*integers_count=*/true);
  // A class of -1 says that there is none, in all importers.
  const auto num_none = static_cast<uint64_t>(
      std::count(classes.labels.begin(), classes.labels.end(), -1));
  missing_[0].Add(
      "-1", [] { return ""; }, num_none - missing_[0].count());
  store.SetClasses(std::move(classes.labels), what_);
  store.SetNames(std::move(classes.class_names));
  return absl::OkStatus();
}

absl::Status CsvLabels::FinishTextSets() {
  const std::string what =
      absl::StrCat(what_, ": column '", columns_[0].name, "'");
  const uint64_t num_classes = sets_.num_classes();
  if (num_classes == 0) {
    target_.Note(absl::StrCat(what, " names no class, and is left out"));
    return absl::OkStatus();
  }
  if (IsMostlyGaps(sets_.num_vertices(), num_classes, sets_.num_entries())) {
    return absl::InvalidArgumentError(
        absl::StrCat(what, " names ", num_classes, " classes, but only ",
                     sets_.num_entries(), " times; leave out the rare ones"));
  }
  std::vector<std::string> names = sets_.SortedNames();
  const bool are_bits = std::all_of(
      names.begin(), names.end(),
      [](const std::string& name) { return name == "0" || name == "1"; });
  if (are_bits) {
    return absl::InvalidArgumentError(absl::StrCat(
        what,
        " holds 0 and 1, which name no classes; --label-column a,b names a "
        "column of 0 and 1 for each class"));
  }
  LabelStore& store = target_.labels();
  FGNN_RETURN_IF_ERROR(Annotate(
      store.BeginNumbers(num_classes, what_, /*as_floats=*/false), what));
  store.SetNames(std::move(names));
  const std::vector<uint32_t> columns = sets_.Columns();
  row_.resize(num_classes);
  for (uint64_t v = 0; v < sets_.num_vertices(); ++v) {
    sets_.Read(v, columns, absl::MakeSpan(row_));
    FGNN_RETURN_IF_ERROR(Annotate(store.AddNumbers(row_), what));
  }
  return absl::OkStatus();
}

}  // namespace fgnn
