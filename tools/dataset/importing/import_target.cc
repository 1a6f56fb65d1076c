#include "tools/dataset/importing/import_target.h"

#include <algorithm>
#include <map>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "shared/base/status.h"
#include "shared/base/units.h"
#include "shared/graph/metadata.h"
#include "tools/dataset/building/vertex_numbering.h"
#include "tools/dataset/inspecting/dataset_notices.h"
#include "tools/dataset/inspecting/edge_symmetry.h"

namespace fgnn {
namespace {

constexpr double kProgressSeconds = 0.02;
// Bytes of the source per byte for sorting. A line of an edge list seldom has
// more than 24 bytes, and its edge takes at least 4 on disk. So sorting takes
// at most half of what it writes.
constexpr uint64_t kSourcePerSortByte = 12;
constexpr uint64_t kMinSortBytes = uint64_t{8} << 20;
constexpr uint64_t kMaxSortBytes = uint64_t{256} << 20;
// Bounds of what metadata.yaml keeps of the names of a stranger's source.
constexpr size_t kMostNames = 20;
constexpr size_t kMostNameBytes = 100;

std::vector<std::string> FirstOf(const std::vector<std::string>& names) {
  std::vector<std::string> few;
  for (size_t i = 0; i < std::min(names.size(), kMostNames); ++i) {
    few.push_back(names[i].substr(0, kMostNameBytes));
  }
  if (names.size() > kMostNames) {
    few.push_back(absl::StrCat(names.size() - kMostNames, " more"));
  }
  return few;
}

std::string TextOfUnequal(uint64_t num_unequal, EqualEdges rule) {
  const char* const what = rule == EqualEdges::kFirst ? "the first weight stays"
                           : rule == EqualEdges::kSum
                               ? "their weights are summed"
                               : "the largest weight stays";
  return absl::StrCat(
      FormatCount(num_unequal),
      " edges are there several times with unequal weights: ", what,
      "; --equal-edges first, sum or largest chooses, "
      "--keep-duplicates keeps all");
}

}  // namespace

std::string SourceName(const std::string& what) {
  // A name in parentheses may hold a slash itself.
  const size_t path_end = std::min(what.find(" ("), what.size());
  const size_t slash = what.rfind('/', path_end);
  return slash == std::string::npos ? what : what.substr(slash + 1);
}

absl::StatusOr<std::unique_ptr<ImportTarget>> ImportTarget::Create(
    const ImportOptions& options, std::string source) {
  if (options.train_fraction.has_value() &&
      !(*options.train_fraction > 0 && *options.train_fraction < 1)) {
    return absl::InvalidArgumentError(
        absl::StrCat("--train-fraction is ", *options.train_fraction,
                     "; it is a share between 0 and 1, such as 0.5"));
  }
  if (!std::isfinite(options.fill.value)) {
    return absl::InvalidArgumentError(
        "--fill takes a finite number, such as 0, or the word mean");
  }
  FGNN_ASSIGN_OR_RETURN(DatasetWriter writer,
                        DatasetWriter::Create(options.out, options.interrupt));
  return std::unique_ptr<ImportTarget>(
      new ImportTarget(options, std::move(source), std::move(writer)));
}

ImportTarget::ImportTarget(const ImportOptions& options, std::string source,
                           DatasetWriter writer)
    : options_(options),
      source_(std::move(source)),
      writer_(std::move(writer)),
      features_(options_, writer_),
      labels_(options_, writer_) {}

absl::Status ImportTarget::BeginEdges(bool with_weights,
                                      uint64_t source_bytes) {
  CscBuilderOptions builder;
  builder.reverses = options_.symmetric ? Reverses::kMissing : Reverses::kNone;
  builder.deduplicate = !options_.keep_duplicates;
  builder.equal_edges = options_.equal_edges;
  builder.drop_self_loops = options_.drop_self_loops;
  builder.with_weights = with_weights;
  builder.memory_bytes = source_bytes == 0
                             ? kMaxSortBytes
                             : std::clamp(source_bytes / kSourcePerSortByte,
                                          kMinSortBytes, kMaxSortBytes);
  FGNN_ASSIGN_OR_RETURN(edges_, CscBuilder::Create(writer_.folder(), builder));
  return absl::OkStatus();
}

void ImportTarget::AccountForEdges(AccountTable table) {
  table.product = "edges";
  account().tables.push_back(std::move(table));
}

absl::Status ImportTarget::AccountForWeights(const std::string& what,
                                             AccountColumn column) {
  if (column.missing == 0) {
    AddColumn(std::move(column), account());
    return absl::OkStatus();
  }
  const uint64_t known = num_edges_added_ - column.missing;
  const bool has_mean = options_.fill.kind == GapFill::Kind::kMean && known > 0;
  if (options_.fill.kind != GapFill::Kind::kValue && !has_mean) {
    return absl::InvalidArgumentError(
        absl::StrCat(what, ": ", column.first_missing, ": weight is missing (",
                     column.words, "), in ", FormatCount(column.missing),
                     " of ", FormatCount(num_edges_added_),
                     " edges; --fill 1 or another number gives them one"));
  }
  const double mean = has_mean ? weight_sum_ / static_cast<double>(known) : 0;
  const float weight =
      has_mean ? static_cast<float>(mean) : options_.fill.value;
  if (!(weight >= 0) || std::isinf(weight)) {
    return absl::InvalidArgumentError(absl::StrCat(
        what, ": --fill ", weight,
        " would be a weight, which is a finite "
        "number of 0 or more; choose another number, or drop the weights"));
  }
  edges_->SetMissingWeight(weight);
  column.change = DescribeFill(options_.fill, mean);
  AddColumn(std::move(column), account());
  return absl::OkStatus();
}

void ImportTarget::SetSplit(const std::string& split, std::vector<int64_t> ids,
                            std::string what) {
  splits_.push_back({split, std::move(ids), std::move(what)});
}

void ImportTarget::LeaveOut(std::string_view why,
                            const std::vector<std::string>& names) {
  if (names.empty()) return;
  const std::vector<std::string> few = FirstOf(names);
  Note(absl::StrCat(std::string(why), ": ", absl::StrJoin(few, ", ")));
  summary_.left_out.insert(summary_.left_out.end(), few.begin(), few.end());
}

void ImportTarget::Progress(std::string_view stage, uint64_t done,
                            uint64_t total) {
  if (!options_.progress) return;
  // A compressed file is often read to its end long before its lines are used
  // up.
  const bool at_end = total > 0 && done >= total;
  if (stage == stage_ &&
      (stage_at_end_ || since_progress_.Seconds() < kProgressSeconds)) {
    return;
  }
  stage_ = std::string(stage);
  stage_at_end_ = at_end;
  since_progress_.Restart();
  options_.progress(stage, at_end ? total : done, total);
}

absl::Status ImportTarget::CheckDense(uint64_t num_nodes) const {
  const uint64_t num_rows = features_.rows();
  if (!IsTooSparse(num_nodes, num_edges_added_) ||
      num_nodes <=
          std::max<uint64_t>({num_vouched_for_, num_rows, labels_.rows()})) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(absl::StrCat(
      source_, ": ", FormatCount(num_nodes), " vertices, but only ",
      FormatCount(num_edges_added_),
      " edges and no row of features or labels for each; correct the number "
      "of vertices, or number them anew from 0"));
}

absl::StatusOr<ImportSummary> ImportTarget::Finish(
    uint64_t num_nodes, std::vector<std::string> kinds) {
  if (num_edges_added_ == 0) {
    return absl::InvalidArgumentError(
        absl::StrCat(source_, ": holds no edges; is it the right file?"));
  }
  if (num_nodes == 0 || num_nodes > kMaxNodes) {
    return absl::InvalidArgumentError(
        absl::StrCat(source_, ": holds ", FormatCount(num_nodes),
                     " vertices; a dataset has between 1 and 2^32 - 1"));
  }
  FGNN_RETURN_IF_ERROR(CheckDense(num_nodes));
  summary_.num_nodes = num_nodes;
  FGNN_RETURN_IF_ERROR(features_.Finish(num_nodes, &summary_));
  FGNN_RETURN_IF_ERROR(labels_.Finish(num_nodes, &summary_));
  FGNN_RETURN_IF_ERROR(FinishSplits(num_nodes));
  FGNN_RETURN_IF_ERROR(FinishEdges(num_nodes));
  FGNN_RETURN_IF_ERROR(FindSymmetry());

  summary_.name = options_.name;
  summary_.source = source_;
  summary_.feature_type = options_.feature_type;
  summary_.kinds = std::move(kinds);
  Progress("checking", 0, 0);
  FGNN_RETURN_IF_ERROR(writer_.Commit(summary_));
  return std::move(summary_);
}

void ImportTarget::DrawSplits() {
  Splits drawn = MakeSplits(
      summary_.num_nodes, [this](uint64_t v) { return labels_.Has(v); },
      *options_.train_fraction, options_.seed);
  const std::string what = "the drawn split";
  splits_.clear();
  SetSplit("train", std::move(drawn.train), what);
  SetSplit("valid", std::move(drawn.valid), what);
  SetSplit("test", std::move(drawn.test), what);
}

absl::Status ImportTarget::FinishSplits(uint64_t num_nodes) {
  if (labels_.empty()) {
    if (options_.train_fraction.has_value()) {
      Note("no split was drawn: the source has no labels");
    } else if (!splits_.empty()) {
      Note("the split is left out: the source has no labels");
    }
    return absl::OkStatus();
  }
  if (options_.train_fraction.has_value()) DrawSplits();
  if (splits_.empty()) {
    Note("the source has no split; --train-fraction 0.5 draws one");
  }
  LabelledVertices vertices;
  vertices.num_nodes = num_nodes;
  vertices.num_classes = summary_.num_classes;
  vertices.labels = labels_.classes();
  struct Place {
    absl::Span<const int64_t>& ids;
    uint64_t& total;
  };
  const std::map<std::string, Place> places = {
      {"train", {vertices.train, summary_.num_train}},
      {"valid", {vertices.valid, summary_.num_valid}},
      {"test", {vertices.test, summary_.num_test}}};
  for (const Split& split : splits_) {
    FGNN_RETURN_IF_ERROR(CheckSplit(split, num_nodes));
    FGNN_RETURN_IF_ERROR(writer_.WriteSplit(split.name, split.ids));
    const Place& place = places.at(split.name);
    place.ids = split.ids;
    place.total = split.ids.size();
  }
  for (std::string& notice : LabelNotices(vertices)) Note(std::move(notice));
  // Frees their memory for the sort.
  splits_ = std::vector<Split>();
  labels_.Forget();
  return absl::OkStatus();
}

absl::Status ImportTarget::CheckSplit(const Split& split,
                                      uint64_t num_nodes) const {
  for (size_t i = 0; i < split.ids.size(); ++i) {
    const int64_t id = split.ids[i];
    if (id < 0 || static_cast<uint64_t>(id) >= num_nodes) {
      return absl::InvalidArgumentError(absl::StrCat(
          split.what, ": element ", i, " of the ", split.name, " split is ", id,
          "; vertices are numbered from 0 to ", num_nodes - 1));
    }
    if (!labels_.Has(static_cast<uint64_t>(id))) {
      return absl::InvalidArgumentError(absl::StrCat(
          split.what, ": vertex ", id, " of the ", split.name, " split has no ",
          summary_.target_columns > 1 ? "label in some column" : "label",
          "; --train-fraction draws a split of those that have one"));
    }
  }
  return absl::OkStatus();
}

absl::Status ImportTarget::FinishEdges(uint64_t num_nodes) {
  FGNN_ASSIGN_OR_RETURN(
      summary_.edges,
      edges_->Finish(num_nodes, [this](uint64_t done, uint64_t total) {
        Progress("sorting edges", done, total);
      }));
  edges_.reset();
  summary_.num_edges = summary_.edges.num_edges;
  if (summary_.edges.num_unequal > 0) {
    Note(TextOfUnequal(summary_.edges.num_unequal, options_.equal_edges));
  }
  return FinishAccount();
}

absl::Status ImportTarget::FinishAccount() {
  const CscTotals& totals = summary_.edges;
  for (AccountTable& table : account().tables) {
    if (table.product != "edges") continue;
    table.made = totals.num_edges;
    table.merged = totals.num_merged;
    AddReason("reverses", totals.num_reverses, "", table.added);
    AddReason("self-loops", totals.num_self_loops, "", table.left_out);
  }
  FGNN_RETURN_IF_ERROR(
      CheckAccount(account(), summary_.num_nodes, totals.num_edges));
  return WriteAccount(account(), writer_.folder());
}

absl::Status ImportTarget::FindSymmetry() {
  summary_.symmetric = options_.symmetric;
  if (options_.symmetric) return absl::OkStatus();
  FGNN_ASSIGN_OR_RETURN(summary_.symmetric, IsSymmetric(writer_.folder()));
  if (options_.directed && summary_.symmetric) {
    Note(
        "--directed does not hold: every edge is there in both directions, so "
        "the dataset is symmetric");
  }
  return absl::OkStatus();
}

}  // namespace fgnn
