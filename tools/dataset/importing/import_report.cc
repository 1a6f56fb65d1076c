#include "tools/dataset/importing/import_report.h"

#include <nlohmann/json.hpp>

#include "absl/strings/str_cat.h"
#include "shared/base/json_text.h"
#include "shared/base/units.h"

namespace fgnn {
namespace {

std::string Directions(const ImportSummary& summary,
                       const ImportOptions& options) {
  if (summary.symmetric) return "symmetric: each is there in both directions";
  return absl::StrCat(
      "directed: not every edge has a reverse",
      options.directed ? "" : "; --symmetric adds the missing ones");
}

}  // namespace

std::string ImportReport(const ImportSummary& summary,
                         const ImportOptions& options, double seconds) {
  std::string text =
      absl::StrCat("made ", options.out.string(), " in ",
                   FormatSeconds(seconds), ": ", FormatCount(summary.num_nodes),
                   " vertices, ", FormatCount(summary.num_edges), " edges\n");
  absl::StrAppend(&text, "  edges     ", Directions(summary, options), "\n");
  if (summary.feature_columns > 0) {
    absl::StrAppend(&text, "  features  ", FormatCount(summary.feature_columns),
                    " columns of ", std::string(NameOf(summary.feature_type)),
                    "\n");
  }
  if (summary.num_classes > 0) {
    absl::StrAppend(&text, "  labels    ", FormatCount(summary.num_labelled),
                    " vertices in ", FormatCount(summary.num_classes),
                    " classes\n");
  }
  if (summary.target_columns > 0) {
    const bool sets = summary.target_type == TargetType::kBits;
    absl::StrAppend(&text, "  targets   ", FormatCount(summary.num_labelled),
                    " vertices with ", sets ? "sets of " : "",
                    FormatCount(summary.target_columns),
                    sets                          ? " classes"
                    : summary.target_columns == 1 ? " number"
                                                  : " numbers each",
                    "\n");
  }
  if (summary.num_train + summary.num_valid + summary.num_test > 0) {
    absl::StrAppend(&text, "  split     ", FormatCount(summary.num_train),
                    " train, ", FormatCount(summary.num_valid), " valid, ",
                    FormatCount(summary.num_test), " test\n");
  }
  for (const std::string& note : summary.notes) {
    absl::StrAppend(&text, "  note      ", note, "\n");
  }
  return text + "account\n" + FormatAccount(summary.account);
}

std::string ImportReportJson(const ImportSummary& summary,
                             const ImportOptions& options, double seconds) {
  nlohmann::ordered_json document;
  document["dataset"] = options.out.string();
  document["num_nodes"] = summary.num_nodes;
  document["num_edges"] = summary.num_edges;
  document["symmetric"] = summary.symmetric;
  document["duplicates_dropped"] = summary.edges.num_merged;
  document["self_loops_dropped"] = summary.edges.num_self_loops;
  document["feature_columns"] = summary.feature_columns;
  document["feature_type"] = std::string(NameOf(summary.feature_type));
  document["num_classes"] = summary.num_classes;
  document["target_columns"] = summary.target_columns;
  document["target_type"] = std::string(NameOf(summary.target_type));
  document["labelled"] = summary.num_labelled;
  document["train"] = summary.num_train;
  document["valid"] = summary.num_valid;
  document["test"] = summary.num_test;
  document["reverses_made"] = summary.edges.num_reverses;
  document["seconds"] = seconds;
  document["notes"] = summary.notes;
  document["account"] = AccountToJson(summary.account);
  // File names may not be UTF-8, but JSON must be.
  return JsonText(document, 2);
}

}  // namespace fgnn
