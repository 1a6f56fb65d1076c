// fgnn dataset import ogb.
#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "shared/base/status.h"
#include "tools/dataset/importing/csv_table.h"
#include "tools/dataset/importing/import.h"
#include "tools/dataset/importing/import_arrays.h"
#include "tools/dataset/importing/import_target.h"
#include "tools/dataset/reading/array_stream.h"
#include "tools/dataset/reading/delimited_text.h"
#include "tools/dataset/reading/number_text.h"

namespace fgnn {
namespace {

namespace fs = std::filesystem;

// Files of raw/ that are read, or that say nothing new.
constexpr std::array<std::string_view, 6> kRead = {
    "data",       "edge",          "node-feat",
    "node-label", "num-edge-list", "num-node-list"};

bool Exists(const fs::path& path) {
  std::error_code error;
  return fs::exists(path, error);
}

// Returns the file, gzip'ed or already unpacked.
std::optional<fs::path> FindCsv(const fs::path& folder,
                                const std::string& name) {
  for (const char* ending : {".csv.gz", ".csv"}) {
    if (Exists(folder / (name + ending))) return folder / (name + ending);
  }
  return std::nullopt;
}

absl::StatusOr<fs::path> RequireCsv(const fs::path& folder,
                                    const std::string& name) {
  if (const auto found = FindCsv(folder, name)) return *found;
  return absl::NotFoundError(
      absl::StrCat((folder / name).string(),
                   ".csv.gz: is not there; SOURCE is the folder of an OGB node "
                   "dataset, with raw/ and split/"));
}

// Returns the number of vertices of the only graph.
absl::StatusOr<uint64_t> CheckNumNodes(const std::vector<int64_t>& counts,
                                       const std::string& what) {
  if (counts.size() == 1 && counts[0] > 0 &&
      static_cast<uint64_t>(counts[0]) <= kMaxNodes) {
    return static_cast<uint64_t>(counts[0]);
  }
  return absl::InvalidArgumentError(
      absl::StrCat(what, ": counts the vertices of ", counts.size(), " graphs",
                   counts.empty() ? "" : absl::StrCat(", first ", counts[0]),
                   "; a node dataset is one graph of 1 to 2^32 - 1 vertices"));
}

absl::StatusOr<std::vector<int64_t>> ReadIntegers(const fs::path& path) {
  FGNN_ASSIGN_OR_RETURN(DelimitedReader records, DelimitedReader::Open(path));
  std::vector<int64_t> values;
  for (;;) {
    FGNN_ASSIGN_OR_RETURN(const bool more, records.Next());
    if (!more) return values;
    FGNN_RETURN_IF_ERROR(records.ExpectFields(1));
    FGNN_ASSIGN_OR_RETURN(const int64_t value, records.Integer(0));
    values.push_back(value);
  }
}

class OgbImporter {
 public:
  OgbImporter(const OgbSource& source, ImportTarget& target)
      : source_(source), raw_(source.folder / "raw"), target_(target) {}

  absl::StatusOr<ImportSummary> Run() {
    if (Exists(raw_ / "triplet-type-list.csv.gz") ||
        Exists(raw_ / "relations")) {
      return absl::InvalidArgumentError(absl::StrCat(
          source_.folder.string(),
          ": vertices and edges of several types are not supported; import one "
          "relation as csv"));
    }
    const bool binary = Exists(raw_ / "data.npz");
    FGNN_RETURN_IF_ERROR(binary ? ReadBinary() : ReadText());
    FGNN_RETURN_IF_ERROR(ReadSplits());
    LeaveOutOthers();
    return target_.Finish(num_nodes_);
  }

 private:
  absl::Status ReadText() {
    FGNN_ASSIGN_OR_RETURN(const fs::path counts_path,
                          RequireCsv(raw_, "num-node-list"));
    FGNN_ASSIGN_OR_RETURN(const std::vector<int64_t> counts,
                          ReadIntegers(counts_path));
    FGNN_ASSIGN_OR_RETURN(num_nodes_,
                          CheckNumNodes(counts, counts_path.string()));
    FGNN_ASSIGN_OR_RETURN(const fs::path edges, RequireCsv(raw_, "edge"));
    FGNN_RETURN_IF_ERROR(
        ReadEdgePairs(edges, num_nodes_, "num-node-list", target_));
    if (const auto features = FindCsv(raw_, "node-feat")) {
      FGNN_RETURN_IF_ERROR(ReadFeatureCsv(*features));
    }
    if (const auto labels = FindCsv(raw_, "node-label")) {
      FGNN_RETURN_IF_ERROR(ReadLabelCsv(*labels));
    }
    return absl::OkStatus();
  }

  absl::Status ReadFeatureCsv(const fs::path& path) {
    FGNN_ASSIGN_OR_RETURN(DelimitedReader records, DelimitedReader::Open(path));
    std::vector<float> row;
    for (;;) {
      FGNN_ASSIGN_OR_RETURN(const bool more, records.Next());
      if (!more) return absl::OkStatus();
      if (row.empty()) {
        row.resize(records.fields().size());
        FGNN_RETURN_IF_ERROR(
            target_.features().Begin(row.size(), path.string()));
      }
      FGNN_RETURN_IF_ERROR(records.ExpectFields(row.size()));
      for (size_t i = 0; i < row.size(); ++i) {
        if (IsMissing(records, i)) {
          row[i] = std::numeric_limits<float>::quiet_NaN();
        } else if (!ParseNumber(records.fields()[i], &row[i]) ||
                   std::isnan(row[i])) {
          return records.Float(i).status();
        }
      }
      FGNN_RETURN_IF_ERROR(
          Annotate(target_.features().Append(row), records.Place()));
      target_.Progress("reading features", records.lines().bytes_done(),
                       records.lines().bytes_in_all());
    }
  }

  // Returns the columns of labels to read, as [first, last).
  absl::StatusOr<std::pair<size_t, size_t>> LabelColumns(
      size_t num_columns, const std::string& what) const {
    if (source_.label_column < 0)
      return std::pair<size_t, size_t>{0, num_columns};
    const auto chosen = static_cast<size_t>(source_.label_column);
    if (chosen < num_columns) return std::pair{chosen, chosen + 1};
    return absl::InvalidArgumentError(absl::StrCat(
        what, ": ", num_columns,
        " labels a vertex; choose one with --label-column, from 0 to ",
        num_columns - 1, ", or leave that out for all"));
  }

  absl::Status ReadLabelCsv(const fs::path& path) {
    FGNN_ASSIGN_OR_RETURN(DelimitedReader records, DelimitedReader::Open(path));
    std::pair<size_t, size_t> columns;
    std::vector<float> row;
    size_t num_columns = 0;
    for (;;) {
      FGNN_ASSIGN_OR_RETURN(const bool more, records.Next());
      if (!more) return absl::OkStatus();
      if (num_columns == 0) {
        num_columns = records.fields().size();
        FGNN_ASSIGN_OR_RETURN(columns,
                              LabelColumns(num_columns, records.Place()));
        row.resize(columns.second - columns.first);
        FGNN_RETURN_IF_ERROR(
            Annotate(target_.labels().BeginNumbers(row.size(), path.string(),
                                                   /*as_floats=*/false),
                     records.Place()));
      }
      FGNN_RETURN_IF_ERROR(records.ExpectFields(num_columns));
      for (size_t i = 0; i < row.size(); ++i) {
        FGNN_ASSIGN_OR_RETURN(row[i], ParseLabel(records, columns.first + i));
      }
      FGNN_RETURN_IF_ERROR(
          Annotate(target_.labels().AddNumbers(row), records.Place()));
    }
  }

  bool IsMissing(const DelimitedReader& records, size_t column) const {
    return records.IsMissing(column, target_.options().missing);
  }

  // OGB writes labels as floating point, with NaN, if some vertices have none.
  absl::StatusOr<float> ParseLabel(const DelimitedReader& records,
                                   size_t column) const {
    if (IsMissing(records, column)) {
      return std::numeric_limits<float>::quiet_NaN();
    }
    FGNN_ASSIGN_OR_RETURN(const double value, records.Float(column));
    return static_cast<float>(value);
  }

  absl::Status ReadBinary() {
    FGNN_ASSIGN_OR_RETURN(const NpzArchive data,
                          NpzArchive::Open(raw_ / "data.npz"));
    FGNN_ASSIGN_OR_RETURN(ArrayStream counts_array,
                          data.OpenArray("num_nodes_list"));
    const std::string counts_what = counts_array.what();
    FGNN_ASSIGN_OR_RETURN(const std::vector<int64_t> counts,
                          ReadIds(std::move(counts_array)));
    FGNN_ASSIGN_OR_RETURN(num_nodes_, CheckNumNodes(counts, counts_what));
    FGNN_ASSIGN_OR_RETURN(ArrayStream sources, data.OpenArray("edge_index"));
    FGNN_ASSIGN_OR_RETURN(ArrayStream destinations,
                          data.OpenArray("edge_index"));
    FGNN_RETURN_IF_ERROR(ImportEdgeIndex(std::move(sources),
                                         std::move(destinations), num_nodes_,
                                         target_)
                             .status());
    if (data.Has("node_feat")) {
      FGNN_ASSIGN_OR_RETURN(ArrayStream features, data.OpenArray("node_feat"));
      FGNN_RETURN_IF_ERROR(ImportDenseFeatures(std::move(features), target_));
    }
    for (std::string& name : data.Unopened()) {
      if (name != "num_edges_list") others_.push_back(std::move(name));
    }
    if (!Exists(raw_ / "node-label.npz")) return absl::OkStatus();
    FGNN_ASSIGN_OR_RETURN(const NpzArchive archive,
                          NpzArchive::Open(raw_ / "node-label.npz"));
    FGNN_ASSIGN_OR_RETURN(ArrayStream labels, archive.OpenArray("node_label"));
    return ImportLabels(std::move(labels), target_);
  }

  // Says which files of raw/ and arrays of data.npz nothing read.
  void LeaveOutOthers() {
    std::error_code error;
    for (const auto& entry : fs::directory_iterator(raw_, error)) {
      const std::string file = entry.path().filename().string();
      const std::string name = file.substr(0, file.find('.'));
      if (std::find(kRead.begin(), kRead.end(), name) == kRead.end()) {
        others_.push_back(file);
      }
    }
    std::sort(others_.begin(), others_.end());
    target_.LeaveOut(
        absl::StrCat(raw_.string(), ": left out, nothing reads them"), others_);
  }

  absl::StatusOr<std::optional<fs::path>> SplitFolder() const {
    const fs::path folder = source_.folder / "split";
    std::vector<std::string> names;
    std::error_code error;
    for (const auto& entry : fs::directory_iterator(folder, error)) {
      if (entry.is_directory(error)) {
        names.push_back(entry.path().filename().string());
      }
    }
    if (!source_.split.empty()) {
      if (Exists(folder / source_.split)) return folder / source_.split;
      return absl::NotFoundError(absl::StrCat(
          (folder / source_.split).string(), ": is not there; splits are ",
          names.empty() ? "none" : absl::StrJoin(names, ", ")));
    }
    if (names.empty()) return std::nullopt;
    if (names.size() == 1) return folder / names[0];
    return absl::InvalidArgumentError(
        absl::StrCat(folder.string(), ": has several splits, ",
                     absl::StrJoin(names, ", "), "; choose one with --split"));
  }

  absl::Status ReadSplits() {
    FGNN_ASSIGN_OR_RETURN(const std::optional<fs::path> folder, SplitFolder());
    if (!folder.has_value()) return absl::OkStatus();
    for (const std::string split : {"train", "valid", "test"}) {
      FGNN_ASSIGN_OR_RETURN(const fs::path path, RequireCsv(*folder, split));
      FGNN_ASSIGN_OR_RETURN(std::vector<int64_t> ids, ReadIntegers(path));
      target_.SetSplit(split, std::move(ids), path.string());
    }
    return absl::OkStatus();
  }

  const OgbSource& source_;
  fs::path raw_;
  ImportTarget& target_;
  uint64_t num_nodes_ = 0;
  std::vector<std::string> others_;  // Arrays that nothing reads.
};

}  // namespace

absl::StatusOr<ImportSummary> ImportOgb(const OgbSource& source,
                                        const ImportOptions& options) {
  FGNN_ASSIGN_OR_RETURN(
      const std::unique_ptr<ImportTarget> target,
      ImportTarget::Create(options,
                           absl::StrCat("ogb ", source.folder.string())));
  return OgbImporter(source, *target).Run();
}

}  // namespace fgnn
