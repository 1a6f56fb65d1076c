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
#include "tools/dataset/building/class_labels.h"
#include "tools/dataset/importing/csv_table.h"
#include "tools/dataset/reading/number_text.h"

namespace fgnn {
namespace {

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
    FGNN_RETURN_IF_ERROR(
        FindOptional(source_.label_column, "label", "--label-column", &label_));
    FGNN_RETURN_IF_ERROR(
        FindOptional(source_.split_column, "split", "--split-column", &split_));
    for (const std::string& name : source_.feature_columns) {
      FGNN_ASSIGN_OR_RETURN(const size_t column,
                            table_.Column(name, "--feature-columns"));
      features_.push_back(column);
    }
    return absl::OkStatus();
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
    for (const size_t column : features_) {
      names.push_back(table_.header()[column]);
      // A quoted name may hold the end of a line.
      std::replace(names.back().begin(), names.back().end(), '\n', ' ');
    }
    return target_.WriteLines(
        kFeatureNamesFile, names.size(),
        [&names](uint64_t c) -> std::string_view { return names[c]; });
  }

  void TakeNumericColumns(absl::Span<const std::string_view> fields) {
    std::vector<std::string> left_out;
    for (size_t i = 0; i < fields.size(); ++i) {
      if (i == id_ || i == label_ || i == split_) continue;
      double value = 0;
      if (ParseNumber(fields[i], &value)) {
        features_.push_back(i);
      } else {
        left_out.push_back(table_.header()[i]);
      }
    }
    target_.LeaveOut(absl::StrCat(table_.what(), ": left out as no numbers"),
                     left_out);
  }

  absl::Status AddRecord(absl::Span<const std::string_view> fields) {
    if (numbering_.num_nodes() == 0)
      FGNN_RETURN_IF_ERROR(BeginFeatures(fields));
    FGNN_ASSIGN_OR_RETURN(const GlobalId vertex,
                          numbering_.Declare(fields[id_]));
    if (label_.has_value()) labels_.Add(fields[*label_]);
    if (split_.has_value()) {
      FGNN_RETURN_IF_ERROR(AddToSplit(fields[*split_], vertex));
    }
    if (features_.empty()) return absl::OkStatus();
    for (size_t i = 0; i < features_.size(); ++i) {
      if (!ParseNumber(fields[features_[i]], &row_[i])) {
        return absl::InvalidArgumentError(absl::StrCat(
            "column '", table_.header()[features_[i]], "' holds '",
            std::string(fields[features_[i]]),
            "', which is no number; choose others with --feature-columns"));
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
    if (!label_.has_value()) return absl::OkStatus();
    ClassLabels::Result classes = labels_.Take(/*integers_count=*/true);
    target_.SetLabels(std::move(classes.labels), table_.what());
    if (classes.class_names.empty()) return absl::OkStatus();
    return target_.WriteLines(kClassNamesFile, classes.class_names.size(),
                              [&classes](uint64_t c) -> std::string_view {
                                return classes.class_names[c];
                              });
  }

  const CsvSource& source_;
  CsvTable table_;
  VertexNumbering& numbering_;
  ImportTarget& target_;
  size_t id_ = 0;
  std::optional<size_t> label_, split_;
  std::vector<size_t> features_;
  std::vector<float> row_;
  ClassLabels labels_;
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
