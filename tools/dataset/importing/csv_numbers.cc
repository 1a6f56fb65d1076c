#include "tools/dataset/importing/csv_numbers.h"

#include <cmath>
#include <limits>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "shared/base/status.h"
#include "shared/base/units.h"
#include "tools/dataset/importing/feature_store.h"
#include "tools/dataset/reading/number_text.h"

namespace fgnn {
namespace {

// Most names of features in a note.
constexpr size_t kShownFeatures = 12;

}  // namespace

CsvNumbers::CsvNumbers(bool named, const CsvTable& table, ImportTarget& target,
                       FeatureTable numbers)
    : named_(named),
      table_(table),
      target_(target),
      numbers_(std::move(numbers)) {}

absl::StatusOr<CsvNumbers> CsvNumbers::Create(std::vector<size_t> places,
                                              bool named, const CsvTable& table,
                                              ImportTarget& target) {
  FGNN_ASSIGN_OR_RETURN(
      FeatureTable numbers,
      FeatureTable::Create(
          target.writer().folder() /
              absl::StrCat(".numbers-", target.features().rows()),
          places.size()));
  CsvNumbers result(named, table, target, std::move(numbers));
  for (const size_t place : places) {
    Column column;
    column.place = place;
    column.name = table.NameOf(place);
    result.columns_.push_back(std::move(column));
  }
  result.row_.resize(places.size());
  return result;
}

absl::Status CsvNumbers::Add(absl::Span<const std::string_view> fields) {
  for (size_t i = 0; i < columns_.size(); ++i) {
    row_[i] = Parse(fields[columns_[i].place], columns_[i]);
  }
  return numbers_.AppendRow(row_);
}

// Returns NaN for what is no number.
float CsvNumbers::Parse(std::string_view text, Column& column) const {
  constexpr float kNone = std::numeric_limits<float>::quiet_NaN();
  if (table_.IsMissing(column.place)) {
    column.missing.Add(text, [this] { return table_.Line(); });
    return kNone;
  }
  float value = 0;
  if (!ParseNumber(text, &value) || std::isnan(value)) {
    if (column.num_texts++ == 0) {
      column.text_error =
          absl::StrCat(table_.Place(), ": column '", column.name, "' holds '",
                       std::string(text), "', which is no number");
    }
    return kNone;
  }
  if (std::isinf(value) && column.infinity_error.empty()) {
    column.infinity_error =
        absl::StrCat(table_.Place(), ": feature column ",
                     &column - columns_.data(), " ('", column.name, "') is ",
                     std::string(text), "; replace it with a finite number");
  }
  return value;
}

std::string CsvNumbers::WhyLeftOut(const Column& column) const {
  const uint64_t num_values = numbers_.num_rows() - column.missing.count();
  const uint64_t num_numbers = num_values - column.num_texts;
  if (named_ || (num_numbers > 0 && num_numbers >= column.num_texts)) return "";
  if (num_values == 0) return "left out: no value";
  return num_numbers == 0
             ? std::string("left out: text")
             : absl::StrCat("left out: text, with ", FormatCount(num_numbers),
                            " numbers of ", FormatCount(num_values), " values");
}

absl::Status CsvNumbers::Check(const Column& column) const {
  const std::string way_out = "choose other columns with --feature-columns";
  const GapFill::Kind fill = target_.options().fill.kind;
  const uint64_t gaps = column.missing.count();
  if (column.num_texts > 0) {
    return absl::InvalidArgumentError(
        absl::StrCat(column.text_error, "; mend it, ", way_out,
                     ", or name a word for missing values with --missing"));
  }
  if (!column.infinity_error.empty()) {
    return absl::InvalidArgumentError(column.infinity_error);
  }
  if (gaps == 0) return absl::OkStatus();
  const std::string where = absl::StrCat(
      table_.what(), ": column '", column.name, "' has no value in ",
      FormatCount(gaps), " of ", FormatCount(numbers_.num_rows()), " rows (",
      column.missing.Words(), "), first in ", column.missing.first());
  if (fill == GapFill::Kind::kMean && gaps == numbers_.num_rows()) {
    return absl::InvalidArgumentError(
        absl::StrCat(where, ", so that there is no mean; ", way_out));
  }
  if (fill != GapFill::Kind::kRefuse) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat(where, "; --fill 0 or --fill mean fills it, or ", way_out));
}

void CsvNumbers::Account(const Column& column, const std::string& why,
                         size_t place) {
  const uint64_t gaps = column.missing.count();
  AddColumn({.source = SourceName(table_.what()),
             .names = column.name,
             .use = why.empty() ? "feature" : why,
             .missing = gaps,
             .words = column.missing.Words(),
             .first_missing = column.missing.first(),
             .change = gaps == 0 || !why.empty()
                           ? ""
                           : DescribeFill(target_.options().fill,
                                          numbers_.columns()[place].mean(
                                              numbers_.num_rows()))},
            target_.account());
}

// Tells the user which columns are features. A column of labels that no flag
// names would be among them and would tell the model the answer.
void CsvNumbers::NoteFeatures(const std::vector<std::string>& names) {
  if (names.empty() || named_) return;
  const size_t shown = std::min(names.size(), kShownFeatures);
  target_.Note(absl::StrCat(
      "features are all other columns of numbers: ",
      absl::StrJoin(names.begin(),
                    names.begin() + static_cast<ptrdiff_t>(shown), ", "),
      shown < names.size()
          ? absl::StrCat(", and ", names.size() - shown, " more")
          : "",
      "; choose with --feature-columns, name labels with --label-column"));
}

absl::StatusOr<std::vector<std::string>> CsvNumbers::Finish(
    uint64_t first_vertex) {
  std::vector<std::string> names;
  std::vector<std::string> left_out;
  std::vector<size_t> chosen;
  for (size_t i = 0; i < columns_.size(); ++i) {
    const std::string why = WhyLeftOut(columns_[i]);
    if (why.empty()) {
      FGNN_RETURN_IF_ERROR(Check(columns_[i]));
      chosen.push_back(i);
      names.push_back(columns_[i].name);
    } else {
      left_out.push_back(columns_[i].name);
    }
    Account(columns_[i], why, i);
  }
  target_.LeaveOut(absl::StrCat(table_.what(), ": left out as no numbers"),
                   left_out);
  NoteFeatures(names);
  if (chosen.empty()) return names;
  target_.features().AddTable(std::move(numbers_), std::move(chosen),
                              first_vertex);
  return names;
}

}  // namespace fgnn
