#include "tools/dataset/csv_nodes.h"

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "shared/base/status.h"
#include "tools/dataset/class_labels.h"
#include "tools/dataset/delimited_text.h"
#include "tools/dataset/number_text.h"

namespace fgnn {
namespace {

constexpr uint64_t kProgressRecords = 1024;

class NodesReader {
 public:
  NodesReader(const CsvSource& source, DelimitedReader records,
              VertexNumbering& numbering, ImportTarget& target)
      : source_(source),
        records_(std::move(records)),
        numbering_(numbering),
        target_(target) {}

  absl::Status Read() {
    FGNN_RETURN_IF_ERROR(ReadHeader());
    for (;;) {
      FGNN_ASSIGN_OR_RETURN(const bool more, records_.Next());
      if (!more) break;
      FGNN_RETURN_IF_ERROR(records_.ExpectFields(header_.size()));
      if (numbering_.num_nodes() == 0) FGNN_RETURN_IF_ERROR(ChooseFeatures());
      FGNN_RETURN_IF_ERROR(AddRecord());
      if (numbering_.num_nodes() % kProgressRecords == 0) {
        target_.Progress("reading vertices", records_.lines().bytes_done(),
                         records_.lines().bytes_in_all());
      }
    }
    return Finish();
  }

 private:
  std::string what() const { return records_.lines().what(); }

  absl::Status ReadHeader() {
    FGNN_ASSIGN_OR_RETURN(const bool more, records_.Next());
    if (!more) {
      return absl::InvalidArgumentError(
          absl::StrCat(what(), ": is empty; a header row is expected"));
    }
    for (const std::string_view field : records_.fields()) {
      header_.emplace_back(TrimBlanks(field));
    }
    FGNN_ASSIGN_OR_RETURN(
        id_, FindColumn(header_,
                        source_.id_column.empty() ? "id" : source_.id_column,
                        what(), "--id-column"));
    FGNN_RETURN_IF_ERROR(
        FindOptional(source_.label_column, "label", "--label-column", &label_));
    return FindOptional(source_.split_column, "split", "--split-column",
                        &split_);
  }

  // A column that is named, or the one of the usual name if there is one.
  absl::Status FindOptional(const std::string& named, const std::string& usual,
                            const std::string& flag,
                            std::optional<size_t>* column) {
    if (named.empty() &&
        std::find(header_.begin(), header_.end(), usual) == header_.end()) {
      return absl::OkStatus();
    }
    FGNN_ASSIGN_OR_RETURN(
        *column,
        FindColumn(header_, named.empty() ? usual : named, what(), flag));
    return absl::OkStatus();
  }

  // Called with the first record, which tells numbers from text.
  absl::Status ChooseFeatures() {
    for (const std::string& name : source_.feature_columns) {
      FGNN_ASSIGN_OR_RETURN(
          const size_t column,
          FindColumn(header_, name, what(), "--feature-columns"));
      features_.push_back(column);
    }
    if (source_.feature_columns.empty()) TakeNumericColumns();
    if (features_.empty()) return absl::OkStatus();
    row_.resize(features_.size());
    return target_.BeginFeatures(features_.size());
  }

  void TakeNumericColumns() {
    std::vector<std::string> left_out;
    for (size_t i = 0; i < header_.size(); ++i) {
      if (i == id_ || i == label_ || i == split_) continue;
      double value = 0;
      if (ParseNumber(records_.fields()[i], &value)) {
        features_.push_back(i);
      } else {
        left_out.push_back(header_[i]);
      }
    }
    if (!left_out.empty()) {
      target_.Note(absl::StrCat(
          what(), ": left out as no numbers: ", absl::StrJoin(left_out, ", ")));
    }
  }

  absl::Status AddRecord() {
    const absl::Span<const std::string_view> fields = records_.fields();
    const absl::StatusOr<GlobalId> vertex = numbering_.Declare(fields[id_]);
    if (!vertex.ok()) return Annotate(vertex.status(), records_.Place());
    if (label_.has_value()) labels_.Add(fields[*label_]);
    if (split_.has_value()) {
      FGNN_RETURN_IF_ERROR(AddToSplit(fields[*split_], *vertex));
    }
    if (features_.empty()) return absl::OkStatus();
    for (size_t i = 0; i < features_.size(); ++i) {
      if (!ParseNumber(fields[features_[i]], &row_[i])) {
        return absl::InvalidArgumentError(absl::StrCat(
            records_.Place(), ": column '", header_[features_[i]], "' holds '",
            std::string(fields[features_[i]]),
            "', which is no number; choose others with --feature-columns"));
      }
    }
    return Annotate(target_.features().AppendRow(row_), records_.Place());
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
          records_.Place(), ": column '", header_[*split_], "' holds '",
          std::string(name), "'; it may hold train, valid, test or nothing"));
    }
    return absl::OkStatus();
  }

  absl::Status Finish() {
    if (split_.has_value()) {
      target_.SetSplit("train", std::move(train_), what());
      target_.SetSplit("valid", std::move(valid_), what());
      target_.SetSplit("test", std::move(test_), what());
    }
    if (!label_.has_value()) return absl::OkStatus();
    ClassLabels::Result classes = labels_.Take(/*integers_count=*/true);
    target_.SetLabels(std::move(classes.labels), what());
    if (classes.class_names.empty()) return absl::OkStatus();
    return target_.WriteLines("class_names.txt", classes.class_names.size(),
                              [&classes](uint64_t c) -> std::string_view {
                                return classes.class_names[c];
                              });
  }

  const CsvSource& source_;
  DelimitedReader records_;
  VertexNumbering& numbering_;
  ImportTarget& target_;
  std::vector<std::string> header_;
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
  FGNN_ASSIGN_OR_RETURN(DelimitedReader records,
                        DelimitedReader::Open(source.nodes, source.separator));
  return NodesReader(source, std::move(records), numbering, target).Read();
}

}  // namespace fgnn
