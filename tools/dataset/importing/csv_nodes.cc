#include "tools/dataset/importing/csv_nodes.h"

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "shared/base/status.h"
#include "shared/graph/dataset_names.h"
#include "tools/dataset/importing/csv_labels.h"
#include "tools/dataset/importing/csv_table.h"
#include "tools/dataset/reading/number_text.h"

namespace fgnn {
namespace {

// Most names of features in a note.
constexpr size_t kShownFeatures = 12;

class NodesReader {
 public:
  NodesReader(const CsvSource& source, CsvTable table,
              VertexNumbering& numbering, ImportTarget& target)
      : source_(source),
        table_(std::move(table)),
        numbering_(numbering),
        target_(target) {}

  absl::Status Read() {
    FGNN_RETURN_IF_ERROR(ChooseColumns());
    FGNN_RETURN_IF_ERROR(
        table_.ForEachRecord("reading vertices", target_,
                             [this](absl::Span<const std::string_view> fields) {
                               return AddRecord(fields);
                             }));
    return Finish();
  }

 private:
  absl::Status ChooseColumns() {
    FGNN_ASSIGN_OR_RETURN(
        id_, table_.Column(source_.id_column.empty() ? "id" : source_.id_column,
                           "--id-column"));
    FGNN_RETURN_IF_ERROR(ChooseLabels());
    FGNN_RETURN_IF_ERROR(
        FindOptional(source_.split_column, "split", "--split-column", &split_));
    for (const std::string& name : source_.feature_columns) {
      FGNN_ASSIGN_OR_RETURN(const size_t column,
                            table_.Column(name, "--feature-columns"));
      features_.push_back(column);
    }
    return absl::OkStatus();
  }

  absl::Status ChooseLabels() {
    std::vector<CsvColumn> columns;
    for (const std::string& name : source_.label_columns) {
      FGNN_ASSIGN_OR_RETURN(const size_t place,
                            table_.Column(name, "--label-column"));
      const auto is_same = [place](const CsvColumn& column) {
        return column.place == place;
      };
      if (std::any_of(columns.begin(), columns.end(), is_same)) {
        return absl::InvalidArgumentError(absl::StrCat(
            "--label-column names '", name, "' twice; name it once"));
      }
      columns.push_back({place, NameOf(place)});
    }
    if (columns.empty()) {
      std::optional<size_t> usual;
      FGNN_RETURN_IF_ERROR(FindOptional("", "label", "--label-column", &usual));
      if (usual.has_value()) columns.push_back({*usual, NameOf(*usual)});
    }
    labels_.emplace(std::move(columns), table_.what(), target_);
    return labels_->Begin();
  }

  // Returns a column's name in one line: a quoted name may hold the end of one.
  std::string NameOf(size_t column) const {
    std::string name = table_.header()[column];
    std::replace(name.begin(), name.end(), '\n', ' ');
    return name;
  }

  // Finds the column that the user named, or the one of the usual name if there
  // is one.
  absl::Status FindOptional(const std::string& named, const std::string& usual,
                            const std::string& flag,
                            std::optional<size_t>* column) {
    const std::vector<std::string>& header = table_.header();
    if (named.empty() &&
        std::find(header.begin(), header.end(), usual) == header.end()) {
      return absl::OkStatus();
    }
    FGNN_ASSIGN_OR_RETURN(*column,
                          table_.Column(named.empty() ? usual : named, flag));
    return absl::OkStatus();
  }

  // Called with the first record, which shows whether columns are numbers or
  // text.
  absl::Status BeginFeatures(absl::Span<const std::string_view> fields) {
    if (source_.feature_columns.empty()) TakeNumericColumns(fields);
    if (features_.empty()) return absl::OkStatus();
    row_.resize(features_.size());
    FGNN_RETURN_IF_ERROR(WriteFeatureNames());
    return target_.BeginFeatures(features_.size());
  }

  absl::Status WriteFeatureNames() {
    std::vector<std::string> names;
    for (const size_t column : features_) names.push_back(NameOf(column));
    return target_.WriteLines(
        kFeatureNamesFile, names.size(),
        [&names](uint64_t c) -> std::string_view { return names[c]; });
  }

  void TakeNumericColumns(absl::Span<const std::string_view> fields) {
    std::vector<std::string> left_out;
    for (size_t i = 0; i < fields.size(); ++i) {
      if (i == id_ || i == split_ || labels_->Has(i)) continue;
      double value = 0;
      if (ParseNumber(fields[i], &value)) {
        features_.push_back(i);
      } else {
        left_out.push_back(table_.header()[i]);
      }
    }
    target_.LeaveOut(absl::StrCat(table_.what(), ": left out as no numbers"),
                     left_out);
    NoteFeatures();
  }

  // Tells the user which columns are features. A column of labels that no flag
  // names would be among them and would tell the model the answer.
  void NoteFeatures() {
    if (features_.empty()) return;
    const size_t shown = std::min(features_.size(), kShownFeatures);
    std::string names;
    for (size_t i = 0; i < shown; ++i) {
      absl::StrAppend(&names, i == 0 ? "" : ", ", NameOf(features_[i]));
    }
    if (shown < features_.size()) {
      absl::StrAppend(&names, ", and ", features_.size() - shown, " more");
    }
    target_.Note(absl::StrCat(
        "features are all other columns of numbers: ", names,
        "; choose with --feature-columns, name labels with --label-column"));
  }

  absl::Status AddRecord(absl::Span<const std::string_view> fields) {
    if (numbering_.num_nodes() == 0)
      FGNN_RETURN_IF_ERROR(BeginFeatures(fields));
    FGNN_ASSIGN_OR_RETURN(const GlobalId vertex,
                          numbering_.Declare(fields[id_]));
    FGNN_RETURN_IF_ERROR(labels_->Add(fields));
    if (split_.has_value()) {
      FGNN_RETURN_IF_ERROR(AddToSplit(fields[*split_], vertex));
    }
    if (features_.empty()) return absl::OkStatus();
    for (size_t i = 0; i < features_.size(); ++i) {
      if (!ParseNumber(fields[features_[i]], &row_[i])) {
        return absl::InvalidArgumentError(absl::StrCat(
            "column '", table_.header()[features_[i]], "' holds '",
            std::string(fields[features_[i]]),
            "', which is no number; mend it, or choose other columns with "
            "--feature-columns"));
      }
    }
    return target_.features().AppendRow(row_);
  }

  absl::Status AddToSplit(std::string_view text, GlobalId vertex) {
    const std::string_view name = TrimBlanks(text);
    if (name.empty()) return absl::OkStatus();
    if (name == "train") {
      train_.push_back(vertex);
    } else if (name == "valid" || name == "val" || name == "validation") {
      valid_.push_back(vertex);
    } else if (name == "test") {
      test_.push_back(vertex);
    } else {
      return absl::InvalidArgumentError(absl::StrCat(
          "column '", table_.header()[*split_], "' holds '", std::string(name),
          "'; it may hold train, valid, test or nothing"));
    }
    return absl::OkStatus();
  }

  absl::Status Finish() {
    if (split_.has_value()) {
      target_.SetSplit("train", std::move(train_), table_.what());
      target_.SetSplit("valid", std::move(valid_), table_.what());
      target_.SetSplit("test", std::move(test_), table_.what());
    }
    return labels_->Finish();
  }

  const CsvSource& source_;
  CsvTable table_;
  VertexNumbering& numbering_;
  ImportTarget& target_;
  size_t id_ = 0;
  std::optional<size_t> split_;
  std::vector<size_t> features_;
  std::vector<float> row_;
  std::optional<CsvLabels> labels_;  // Set once the columns are chosen.
  std::vector<int64_t> train_, valid_, test_;
};

}  // namespace

absl::Status ReadCsvNodes(const CsvSource& source, VertexNumbering& numbering,
                          ImportTarget& target) {
  FGNN_ASSIGN_OR_RETURN(CsvTable table,
                        CsvTable::Open(source.nodes, source.separator));
  return NodesReader(source, std::move(table), numbering, target).Read();
}

}  // namespace fgnn
