#include "tools/dataset/importing/label_store.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "shared/base/status.h"
#include "shared/base/units.h"
#include "shared/graph/dataset_names.h"
#include "shared/graph/metadata.h"

namespace fgnn {
namespace {

constexpr char kTargetsFile[] = "targets.npy";
// Bounds of a column's mean and standard deviation. A model learns numbers
// beyond them badly: its first outputs are near 0, and its steps are small.
constexpr double kLargestMean = 10;
constexpr double kLargestDeviation = 10;
constexpr double kSmallestDeviation = 0.01;
constexpr size_t kMostNamed = 3;

bool IsWhole(float value) { return value == std::trunc(value); }

bool IsClass(float value) {
  return IsWhole(value) && value >= -1.0F &&
         value < static_cast<float>(kMostClasses);
}

bool IsHardToLearn(const ColumnMoments& column) {
  return column.count() > 0 && (std::fabs(column.mean()) > kLargestMean ||
                                column.deviation() > kLargestDeviation ||
                                column.deviation() < kSmallestDeviation);
}

std::string NameOfTarget(const std::vector<std::string>& names, size_t c) {
  return c < names.size() && !names[c].empty() ? names[c]
                                               : absl::StrCat("column ", c);
}

// Says which columns are far from what a model learns well.
void NoteScale(const std::string& what, const TargetSink& sink,
               const std::vector<std::string>& names, ImportSummary* summary) {
  std::vector<std::string> columns;
  size_t more = 0;
  for (size_t c = 0; c < sink.moments().size(); ++c) {
    const ColumnMoments& column = sink.moments()[c];
    if (!IsHardToLearn(column)) continue;
    if (columns.size() == kMostNamed) {
      ++more;
      continue;
    }
    columns.push_back(absl::StrFormat(
        "%s has mean %.3g and standard deviation %.3g", NameOfTarget(names, c),
        column.mean(), column.deviation()));
  }
  if (columns.empty()) return;
  if (more > 0)
    columns.push_back(absl::StrCat(FormatCount(more), " more alike"));
  summary->notes.push_back(absl::StrCat(
      what, ": ", absl::StrJoin(columns, ", "),
      ": training learns such numbers badly; before the import, subtract the "
      "mean and divide by the standard deviation"));
}

}  // namespace

void LabelStore::SetClasses(std::vector<int64_t> labels, std::string what) {
  classes_ = std::move(labels);
  what_ = std::move(what);
}

bool LabelStore::MayBeClasses(uint64_t columns) const {
  return columns == 1 && (options_.labels_are == LabelKind::kAuto ||
                          options_.labels_are == LabelKind::kClasses);
}

absl::Status LabelStore::BeginNumbers(uint64_t columns, std::string what,
                                      bool as_floats) {
  what_ = std::move(what);
  columns_ = columns;
  as_floats_ = as_floats;
  if (columns != 1 && options_.labels_are == LabelKind::kClasses) {
    return absl::InvalidArgumentError(absl::StrCat(
        columns,
        " labels a vertex, which --labels-are classes does not allow; "
        "save one column, or pass --labels-are numbers or sets"));
  }
  return MayBeClasses(columns) ? absl::OkStatus() : BeginSink();
}

absl::Status LabelStore::BeginSink() {
  FGNN_ASSIGN_OR_RETURN(
      sink_, TargetSink::Create(writer_.folder() / kTargetsFile, columns_));
  for (const float value : whole_) {
    FGNN_RETURN_IF_ERROR(sink_->AppendRow({&value, 1}));
  }
  whole_ = std::vector<float>();
  return absl::OkStatus();
}

absl::Status LabelStore::AddNumbers(absl::Span<const float> row) {
  if (sink_.has_value()) return sink_->AppendRow(row);
  if (std::isnan(row[0]) || (as_floats_ ? IsClass(row[0]) : IsWhole(row[0]))) {
    whole_.push_back(row[0]);
    return absl::OkStatus();
  }
  if (options_.labels_are == LabelKind::kClasses) {
    return absl::InvalidArgumentError(absl::StrCat(
        "element ", whole_.size(), " is ", row[0],
        "; a label is a class number, or NaN or -1 for none, and --labels-are "
        "numbers takes others"));
  }
  FGNN_RETURN_IF_ERROR(BeginSink());
  return sink_->AppendRow(row);
}

uint64_t LabelStore::rows() const {
  if (sink_.has_value()) return sink_->rows();
  return std::max(classes_.size(), whole_.size());
}

absl::Status LabelStore::Finish(uint64_t num_nodes, ImportSummary* summary) {
  if (empty()) return absl::OkStatus();
  const std::string source = what_;
  if (rows() != num_nodes) {
    return absl::InvalidArgumentError(
        absl::StrCat(what_, ": labels of ", FormatCount(rows()),
                     " vertices, but the graph has ", FormatCount(num_nodes),
                     "; they must be of the same graph"));
  }
  const uint64_t num_rows = rows();
  FGNN_RETURN_IF_ERROR(sink_.has_value() ? FinishTargets(summary)
                                         : FinishAllClasses(summary));
  AccountTable table = {.source = SourceName(source),
                        .unit = "vertices",
                        .read = num_rows,
                        .product = "labels",
                        .made = summary->num_labelled};
  AddReason("without a label", num_rows - summary->num_labelled, "",
            table.left_out);
  summary->account.tables.push_back(std::move(table));
  return absl::OkStatus();
}

absl::Status LabelStore::FinishAllClasses(ImportSummary* summary) {
  if (columns_ == 0 && options_.labels_are != LabelKind::kAuto &&
      options_.labels_are != LabelKind::kClasses) {
    return absl::InvalidArgumentError(absl::StrCat(
        what_,
        ": holds names of classes, which --labels-are numbers or sets "
        "does not take; leave the flag out, or save numbers"));
  }
  if (columns_ == 1) TakeWholeNumbers(summary);
  return FinishClasses(
      options_.num_classes > 0 ? options_.num_classes : stated_classes_,
      summary);
}

void LabelStore::TakeWholeNumbers(ImportSummary* summary) {
  classes_.reserve(whole_.size());
  for (const float value : whole_) {
    classes_.push_back(std::isnan(value) ? -1
                                         : static_cast<int64_t>(std::clamp(
                                               value, -0x1p62F, 0x1p62F)));
  }
  whole_ = std::vector<float>();
  if (options_.labels_are != LabelKind::kAuto || !as_floats_) return;
  summary->notes.push_back(absl::StrCat(
      what_,
      ": whole numbers are taken for classes; --labels-are numbers "
      "takes them for numbers to predict"));
}

absl::Status LabelStore::FinishClasses(uint32_t most, ImportSummary* summary) {
  if (most > kMostClasses) {
    return absl::InvalidArgumentError(
        absl::StrCat(what_, ": ", most, " classes; a dataset has at most ",
                     kMostClasses, ", correct their number"));
  }
  int64_t highest = -1;
  for (size_t v = 0; v < classes_.size(); ++v) {
    const int64_t label = classes_[v];
    // A label beyond any real number of classes means a wrong column.
    if (label < -1 || label >= int64_t{kMostClasses} ||
        (most > 0 && label >= static_cast<int64_t>(most))) {
      return absl::InvalidArgumentError(absl::StrCat(
          what_, ": the label of vertex ", v, " is ", label,
          "; labels are -1 (none) or from 0 to ",
          (most > 0 ? most : kMostClasses) - 1,
          most > 0 ? "; raise --classes"
                   : "; --labels-are numbers takes other numbers"));
    }
    highest = std::max(highest, label);
    if (label >= 0) ++summary->num_labelled;
  }
  if (highest < 0) {
    summary->notes.push_back(
        absl::StrCat(what_, ": no vertex has a label, so they are left out"));
    what_.clear();
    return absl::OkStatus();
  }
  summary->num_classes = most > 0 ? most : static_cast<uint32_t>(highest + 1);
  FGNN_RETURN_IF_ERROR(WriteNames(kClassNamesFile));
  return writer_.WriteLabels(classes_);
}

absl::StatusOr<bool> LabelStore::AreSets() const {
  if (options_.labels_are != LabelKind::kAuto) {
    return options_.labels_are == LabelKind::kSets;
  }
  if (columns_ == 1 || !sink_->may_be_sets()) return false;
  if (sink_->num_marks() == 0) return true;
  return absl::InvalidArgumentError(absl::StrCat(
      what_,
      ": holds 0, 1, and -1 or 255; --labels-are sets takes these for classes "
      "that are not known, --labels-are numbers takes them as numbers"));
}

absl::Status LabelStore::FinishTargets(ImportSummary* summary) {
  if (options_.num_classes > 0) {
    return absl::InvalidArgumentError(absl::StrCat(
        what_,
        ": --classes is given, but labels are no single classes; leave "
        "it out, or pass --labels-are classes"));
  }
  FGNN_ASSIGN_OR_RETURN(const bool are_sets, AreSets());
  FGNN_RETURN_IF_ERROR(Annotate(
      are_sets ? sink_->CloseAsSets() : sink_->CloseAsNumbers(), what_));
  const auto known = static_cast<uint64_t>(
      std::count(sink_->complete().begin(), sink_->complete().end(), true));
  if (known == 0) {
    summary->notes.push_back(absl::StrCat(
        what_, ": no vertex has all its labels, so they are left out"));
    what_.clear();
    std::error_code ignored;
    std::filesystem::remove(writer_.folder() / kTargetsFile, ignored);
    return absl::OkStatus();
  }
  summary->num_labelled = known;
  summary->target_columns = static_cast<uint32_t>(columns_);
  summary->target_type = are_sets ? TargetType::kBits : TargetType::kFloat32;
  NoteTargets(are_sets, summary);
  return WriteNames(kTargetNamesFile);
}

void LabelStore::NoteTargets(bool are_sets, ImportSummary* summary) const {
  std::vector<std::string>& notes = summary->notes;
  if (options_.labels_are == LabelKind::kAuto) {
    notes.push_back(
        absl::StrCat(what_, ": labels are taken for ",
                     are_sets ? "sets of classes, for training.task "
                                "multi_label_classification"
                              : "numbers, for training.task node_regression",
                     "; --labels-are classes, numbers or sets says otherwise"));
  }
  if (sink_->num_partial() > 0) {
    notes.push_back(
        absl::StrCat(what_, ": ", FormatCount(sink_->num_partial()),
                     " vertices have some of their ", columns_,
                     " labels but not all, and count as having none"));
  }
  if (are_sets && columns_ > 1 && sink_->is_one_hot()) {
    notes.push_back(absl::StrCat(
        what_, ": every vertex has exactly one of the ", columns_,
        " classes; if none can have more, save the class numbers, such as "
        "numpy.argmax(labels, 1), and train node_classification"));
  }
  if (!are_sets) NoteScale(what_, *sink_, names_, summary);
}

absl::Status LabelStore::WriteNames(const char* file) const {
  if (names_.empty()) return absl::OkStatus();
  return writer_.WriteLines(
      file, names_.size(),
      [this](uint64_t i) -> std::string_view { return names_[i]; });
}

bool LabelStore::Has(uint64_t v) const {
  const auto place = static_cast<size_t>(v);
  return sink_.has_value() ? sink_->complete()[place] : classes_[place] >= 0;
}

void LabelStore::Forget() {
  classes_ = std::vector<int64_t>();
  sink_.reset();
}

}  // namespace fgnn
