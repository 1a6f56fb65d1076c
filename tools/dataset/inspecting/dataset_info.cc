#include "tools/dataset/inspecting/dataset_info.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <numeric>
#include <utility>
#include <variant>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "shared/base/json_text.h"
#include "shared/base/read_once.h"
#include "shared/base/status.h"
#include "shared/base/units.h"
#include "shared/graph/array_places.h"
#include "shared/graph/edge_lists.h"
#include "shared/graph/leaked_edges.h"
#include "shared/graph/untrained_classes.h"
#include "tools/dataset/inspecting/dataset_notices.h"
#include "tools/dataset/inspecting/edge_symmetry.h"

namespace fgnn {
namespace {

constexpr size_t kClassesShown = 5;

// Returns "3 libs", or "3" without a name.
std::string NumberAndName(const std::vector<std::string>& names, size_t c) {
  return c < names.size() && !names[c].empty() ? absl::StrCat(c, " ", names[c])
                                               : absl::StrCat(c);
}

// Names the largest classes and the smallest.
std::string FormatClasses(const std::vector<uint64_t>& counts,
                          const std::vector<std::string>& names) {
  std::vector<size_t> classes(counts.size());
  std::iota(classes.begin(), classes.end(), size_t{0});
  std::stable_sort(
      classes.begin(), classes.end(),
      [&counts](size_t x, size_t y) { return counts[x] > counts[y]; });
  std::string text = absl::StrCat(classes.size(), " classes; largest: ");
  const size_t shown = std::min(classes.size(), kClassesShown);
  for (size_t i = 0; i < shown; ++i) {
    absl::StrAppend(&text, i == 0 ? "" : ", ", NumberAndName(names, classes[i]),
                    " (", FormatCount(counts[classes[i]]), ")");
  }
  if (!classes.empty()) {
    absl::StrAppend(&text, "; smallest: ", NumberAndName(names, classes.back()),
                    " (", FormatCount(counts[classes.back()]), ")");
  }
  return text;
}

// Returns the number of vertices of each class. Bits of 0 and 1 sum to it.
std::vector<uint64_t> CountsOfSets(const std::vector<ColumnMoments>& targets) {
  std::vector<uint64_t> counts;
  for (const ColumnMoments& bits : targets) {
    counts.push_back(static_cast<uint64_t>(
        std::llround(bits.mean() * static_cast<double>(bits.count()))));
  }
  return counts;
}

std::string FormatNumbers(const std::vector<ColumnMoments>& targets,
                          const std::vector<std::string>& names) {
  std::vector<std::string> columns;
  for (size_t c = 0; c < std::min(targets.size(), kClassesShown); ++c) {
    columns.push_back(absl::StrFormat(
        "%s (mean %.4g, standard deviation %.4g)", NumberAndName(names, c),
        targets[c].mean(), targets[c].deviation()));
  }
  return absl::StrCat(targets.size(),
                      " columns of numbers: ", absl::StrJoin(columns, ", "),
                      targets.size() > columns.size() ? ", …" : "");
}

// Returns the line of what vertices have: classes, numbers, or sets.
std::string LabelsLine(const DatasetInfo& info) {
  const std::string without =
      absl::StrCat("; without a label: ", FormatCount(info.num_unlabelled));
  if (info.metadata.num_classes > 0) {
    return InfoLine("labels", absl::StrCat(FormatClasses(info.label_counts,
                                                         info.names.classes),
                                           without));
  }
  if (info.targets.empty()) return InfoLine("labels", "none");
  if (info.metadata.target_type == TargetType::kFloat32) {
    return InfoLine(
        "targets",
        absl::StrCat(FormatNumbers(info.targets, info.names.targets), without));
  }
  return InfoLine("targets",
                  absl::StrCat("sets of ",
                               FormatClasses(CountsOfSets(info.targets),
                                             info.names.targets),
                               without));
}

absl::Status CountLonelyVertices(const CscView& graph, DatasetInfo& info) {
  std::vector<bool> has_out_edges(graph.num_nodes());
  FGNN_RETURN_IF_ERROR(
      ForEachSource(graph, {.begin = 0, .degree = graph.num_edges()},
                    [&](GlobalId u) { has_out_edges[u] = true; }));
  for (uint64_t v = 0; v < graph.num_nodes(); ++v) {
    FGNN_ASSIGN_OR_RETURN(const EdgeList list, ReadEdgeList(graph, v));
    if (list.degree > 0) continue;
    ++info.num_without_in_edges;
    info.num_isolated += static_cast<uint64_t>(!has_out_edges[v]);
  }
  return absl::OkStatus();
}

// Counts the labels, or takes the moments of the targets.
absl::Status ReadLabels(const Dataset& dataset, DatasetInfo& info) {
  info.label_counts.resize(dataset.num_classes());
  for (size_t v = 0; v < dataset.labels().size(); ++v) {
    const int64_t label = ReadOnce(dataset.labels()[v]);
    if (label < 0) {
      ++info.num_unlabelled;
    } else if (static_cast<uint64_t>(label) < info.label_counts.size()) {
      ++info.label_counts[static_cast<size_t>(label)];
    } else {
      return ChangedElement(
          dataset.graph().places, &dataset.labels()[v], "a label", label,
          absl::StrCat("but there are ", dataset.num_classes(), " classes"));
    }
  }
  const TargetView& targets = dataset.targets();
  info.targets.resize(targets.columns);
  std::vector<float> row(targets.columns);
  for (uint64_t v = 0; v < targets.rows; ++v) {
    targets.Read(static_cast<GlobalId>(v), row.data());
    bool has_all = true;
    for (size_t c = 0; c < row.size(); ++c) {
      if (std::isnan(row[c])) {
        has_all = false;
      } else {
        info.targets[c].Add(row[c]);
      }
    }
    info.num_unlabelled += static_cast<uint64_t>(!has_all);
  }
  return absl::OkStatus();
}

// A damaged book is shown; what is not there is not.
absl::StatusOr<std::optional<BookInfo>> LookAtBook(const Dataset& dataset) {
  const absl::StatusOr<PartitionBook> book = PartitionBook::Open(dataset);
  if (absl::IsNotFound(book.status())) return std::nullopt;
  if (!book.ok() && dataset.host_rows().has_value()) {
    return BookInfo{.damage = MessageOf(book.status())};
  }
  if (!book.ok()) {
    return BookInfo{
        .damage = absl::StrCat(MessageOf(book.status()),
                               "; make it anew with 'fgnn dataset partition ",
                               dataset.folder().string(), "'")};
  }
  return ReadBookInfo(dataset, *book);
}

// Returns what the document of `info` says of targets.
nlohmann::ordered_json TargetsToJson(const DatasetInfo& info) {
  nlohmann::ordered_json columns = nlohmann::ordered_json::array();
  for (size_t c = 0; c < info.targets.size(); ++c) {
    nlohmann::ordered_json column;
    if (c < info.names.targets.size()) column["name"] = info.names.targets[c];
    column["count"] = info.targets[c].count();
    column["mean"] = info.targets[c].mean();
    column["standard_deviation"] = info.targets[c].deviation();
    columns.push_back(std::move(column));
  }
  return columns;
}

// Returns what the document says of a host folder; null for any other.
nlohmann::ordered_json HostRowsToJson(const DatasetMetadata& metadata) {
  if (!metadata.host_rows.has_value()) return nullptr;
  const HostRows& host = metadata.host_rows->host;
  return {{"rows", metadata.host_rows->num_rows},
          {"owner", host.owner},
          {"owners", host.owners},
          {"book", absl::StrCat(absl::Hex(host.book, absl::kZeroPad16))}};
}

}  // namespace

absl::StatusOr<std::optional<std::string>> DatasetWarning(
    const Dataset& dataset) {
  std::vector<std::string> warnings;
  FGNN_ASSIGN_OR_RETURN(std::optional<std::string> untrained,
                        UntrainedClassesWarning(dataset));
  if (untrained.has_value()) warnings.push_back(*std::move(untrained));
  FGNN_ASSIGN_OR_RETURN(std::optional<std::string> leaked,
                        LeakedEdgesWarning(dataset));
  if (leaked.has_value()) warnings.push_back(*std::move(leaked));
  if (warnings.empty()) return std::nullopt;
  return absl::StrJoin(warnings, "; ");
}

absl::StatusOr<DatasetInfo> ReadDatasetInfo(
    const std::filesystem::path& folder) {
  DatasetInfo info;
  info.folder = folder;
  FGNN_ASSIGN_OR_RETURN(const Dataset dataset,
                        Dataset::Open(folder, Validation::kStructure));
  FGNN_ASSIGN_OR_RETURN(info.metadata, ReadMetadata(folder));
  const CscView& graph = dataset.graph();
  FGNN_ASSIGN_OR_RETURN(info.symmetric, IsSymmetric(graph));
  info.mean_in_degree = static_cast<double>(graph.num_edges()) /
                        static_cast<double>(graph.num_nodes());
  info.max_in_degree = MaxInDegree(graph);
  FGNN_RETURN_IF_ERROR(CountLonelyVertices(graph, info));
  FGNN_RETURN_IF_ERROR(ReadLabels(dataset, info));
  FGNN_ASSIGN_OR_RETURN(info.untrained_classes, FindUntrainedClasses(dataset));
  FGNN_ASSIGN_OR_RETURN(info.warning, DatasetWarning(dataset));
  FGNN_ASSIGN_OR_RETURN(info.notices, DatasetNotices(dataset));
  info.num_train = dataset.train().size();
  info.num_valid = dataset.valid().size();
  info.num_test = dataset.test().size();
  if (dataset.has_train_edges()) {
    info.num_train_edges = dataset.train_edges().size();
  }
  info.num_valid_edges = dataset.valid_edges().size();
  info.num_test_edges = dataset.test_edges().size();
  info.has_edge_weights = !dataset.edge_weights().empty();
  info.has_names = dataset.has_names();
  FGNN_ASSIGN_OR_RETURN(info.names,
                        ReadDatasetNames(folder, info.metadata.num_classes,
                                         info.metadata.feature_columns,
                                         info.metadata.target_columns));
  info.total_bytes = dataset.total_bytes();
  FGNN_ASSIGN_OR_RETURN(info.account, ReadAccount(folder));
  FGNN_ASSIGN_OR_RETURN(info.book, LookAtBook(dataset));
  return info;
}

std::string FormatInfo(const DatasetInfo& info) {
  const DatasetMetadata& metadata = info.metadata;
  std::string text = InfoLine(
      "dataset", absl::StrCat(metadata.name, " in ", info.folder.string()));
  text += InfoLine("source", metadata.source.empty() ? "-" : metadata.source);
  text += InfoLine("vertices", FormatCount(metadata.num_nodes));
  text += InfoLine("edges",
                   absl::StrCat(FormatCount(metadata.num_edges),
                                info.symmetric ? ", symmetric" : ", directed",
                                info.has_edge_weights ? ", weighted" : ""));
  text += InfoLine(
      "in-degree",
      absl::StrFormat("mean %.2f, largest %s; without in-edges: %s",
                      info.mean_in_degree, FormatCount(info.max_in_degree),
                      FormatCount(info.num_without_in_edges)));
  text += InfoLine("isolated", absl::StrCat(FormatCount(info.num_isolated),
                                            " without any edge"));
  text += InfoLine(
      "features",
      metadata.feature_columns == 0
          ? "none"
          : absl::StrCat(metadata.feature_columns, " columns of ",
                         std::string(NameOf(metadata.feature_type)),
                         info.names.features.empty() ? "" : ", named"));
  if (metadata.host_rows.has_value()) {
    text += InfoLine(
        "rows",
        absl::StrCat(FormatCount(metadata.host_rows->num_rows),
                     " of the features: ", Describe(metadata.host_rows->host)));
  }
  text += LabelsLine(info);
  text +=
      InfoLine("splits", absl::StrCat("train ", FormatCount(info.num_train),
                                      ", valid ", FormatCount(info.num_valid),
                                      ", test ", FormatCount(info.num_test)));
  if (info.num_train_edges.has_value() || info.num_valid_edges > 0 ||
      info.num_test_edges > 0) {
    text += InfoLine("edge split",
                     absl::StrCat("train ",
                                  info.num_train_edges.has_value()
                                      ? FormatCount(*info.num_train_edges)
                                      : "all of the graph",
                                  ", valid ", FormatCount(info.num_valid_edges),
                                  ", test ", FormatCount(info.num_test_edges)));
  }
  text += InfoLine("names", info.has_names ? "names.txt" : "none");
  if (!metadata.kinds.empty()) {
    text += InfoLine("kinds", absl::StrJoin(metadata.kinds, ", "));
  }
  text += InfoLine("size", FormatBytes(info.total_bytes));
  if (info.book.has_value()) text += FormatBook(*info.book);
  if (info.warning.has_value()) text += InfoLine("warning", *info.warning);
  for (const std::string& notice : info.notices)
    text += InfoLine("notice", notice);
  if (info.account.has_value()) {
    text += "account of its import\n" + FormatAccount(*info.account);
  }
  return text;
}

std::string InfoToJson(const DatasetInfo& info) {
  const DatasetMetadata& metadata = info.metadata;
  const nlohmann::ordered_json document = {
      {"dataset", info.folder.string()},
      {"name", metadata.name},
      {"source", metadata.source},
      {"num_nodes", metadata.num_nodes},
      {"num_edges", metadata.num_edges},
      {"symmetric", info.symmetric},
      {"edge_weights", info.has_edge_weights},
      {"names", info.has_names},
      {"kinds", metadata.kinds},
      {"in_degree",
       {{"mean", info.mean_in_degree},
        {"max", info.max_in_degree},
        {"zero", info.num_without_in_edges}}},
      {"isolated", info.num_isolated},
      {"feature_columns", metadata.feature_columns},
      {"feature_type", std::string(NameOf(metadata.feature_type))},
      {"host_rows", HostRowsToJson(metadata)},
      {"num_classes", metadata.num_classes},
      {"class_names", info.names.classes},
      {"feature_names", info.names.features},
      {"label_counts", info.label_counts},
      {"target_columns", metadata.target_columns},
      {"target_type", std::string(NameOf(metadata.target_type))},
      {"targets", TargetsToJson(info)},
      {"unlabelled", info.num_unlabelled},
      {"untrained_classes", info.untrained_classes},
      {"splits",
       {{"train", info.num_train},
        {"valid", info.num_valid},
        {"test", info.num_test}}},
      {"edge_splits",
       {{"train", info.num_train_edges.value_or(metadata.num_edges)},
        {"valid", info.num_valid_edges},
        {"test", info.num_test_edges}}},
      {"notices", info.notices},
      {"account",
       info.account.has_value() ? AccountToJson(*info.account) : nullptr},
      {"book", info.book.has_value() ? BookToJson(*info.book) : nullptr},
      {"bytes", info.total_bytes}};
  return JsonText(document, 2);
}

}  // namespace fgnn
