#include "tools/dataset/importing/csv_labels.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "absl/strings/str_cat.h"
#include "shared/base/status.h"
#include "tools/dataset/reading/number_text.h"

namespace fgnn {

CsvLabels::CsvLabels(std::vector<CsvColumn> columns, std::string what,
                     LabelStore& store)
    : columns_(std::move(columns)),
      what_(std::move(what)),
      store_(store),
      as_text_(store.MayBeClasses(columns_.size())),
      row_(columns_.size()) {}

bool CsvLabels::Has(size_t place) const {
  return std::any_of(
      columns_.begin(), columns_.end(),
      [place](const CsvColumn& column) { return column.place == place; });
}

absl::Status CsvLabels::Begin() {
  if (columns_.empty() || as_text_) return absl::OkStatus();
  return Annotate(
      store_.BeginNumbers(columns_.size(), what_, /*as_floats=*/false), what_);
}

absl::Status CsvLabels::Add(absl::Span<const std::string_view> fields) {
  if (columns_.empty()) return absl::OkStatus();
  if (as_text_) {
    texts_.Add(fields[columns_[0].place]);
    return absl::OkStatus();
  }
  for (size_t i = 0; i < columns_.size(); ++i) {
    const std::string_view text = fields[columns_[i].place];
    double value = std::numeric_limits<double>::quiet_NaN();
    if (!ClassLabels::IsNone(text) && !ParseNumber(text, &value)) {
      return absl::InvalidArgumentError(absl::StrCat(
          "column '", columns_[i].name, "' holds '", std::string(text),
          "', which is no number; labels of several columns are numbers, or 0 "
          "and 1; choose others with --label-column"));
    }
    row_[i] = static_cast<float>(value);
  }
  return store_.AddNumbers(row_);
}

absl::Status CsvLabels::Finish() {
  if (columns_.empty()) return absl::OkStatus();
  const bool are_numbers =
      !as_text_ || (store_.kind() == LabelKind::kAuto && texts_.HoldNumbers());
  if (!are_numbers) {
    ClassLabels::Result classes = texts_.Take(/*integers_count=*/true);
    store_.SetClasses(std::move(classes.labels), what_);
    store_.SetNames(std::move(classes.class_names));
    return absl::OkStatus();
  }
  std::vector<std::string> names;
  for (const CsvColumn& column : columns_) names.push_back(column.name);
  store_.SetNames(std::move(names));
  if (!as_text_) return absl::OkStatus();
  FGNN_RETURN_IF_ERROR(store_.BeginNumbers(1, what_, /*as_floats=*/true));
  for (const float value : texts_.TakeNumbers()) {
    FGNN_RETURN_IF_ERROR(Annotate(store_.AddNumbers({&value, 1}), what_));
  }
  return absl::OkStatus();
}

}  // namespace fgnn
