#include "tools/fgnn/reports/split_report.h"

#include <numeric>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "shared/base/units.h"
#include "tools/fgnn/reports/text_table.h"

namespace fgnn {
namespace {

using nlohmann::ordered_json;

// Rows that parts send each other: outputs of a layer, or features (layer 0).
struct SentRows {
  size_t layer = 0;
  uint64_t rows = 0;    // Rows of the layer, in sum over batches.
  uint64_t remote = 0;  // Rows that are sent.
  uint64_t bytes = 0;   // Bytes of `remote`.
};

// Returns what is sent, the features last. The sources of hop h are what the
// layer before the one of that hop has computed.
std::vector<SentRows> SentBy(const SplitReport& report,
                             const SplitCounts& counts) {
  const uint64_t hidden_bytes =
      uint64_t{report.hidden} * (report.precision == "bf16" ? 2 : 4);
  std::vector<SentRows> sent;
  for (size_t h = 0; h < counts.parts.size(); ++h) {
    const SplitHopCounts& hop = counts.parts[h];
    const size_t layer = counts.parts.size() - 1 - h;
    const uint64_t row_bytes =
        layer == 0 ? report.feature_columns * sizeof(float) : hidden_bytes;
    sent.push_back(
        {layer, hop.own.sources, hop.remote, hop.remote * row_bytes});
  }
  return sent;
}

ordered_json HopsJson(const std::vector<HopCounts>& hops) {
  ordered_json json = ordered_json::array();
  for (const HopCounts& hop : hops) {
    json.push_back({{"destinations", hop.destinations},
                    {"edges", hop.edges},
                    {"sources", hop.sources}});
  }
  return json;
}

ordered_json PartsJson(const SplitCounts& counts) {
  ordered_json json = ordered_json::array();
  for (const SplitHopCounts& hop : counts.parts) {
    json.push_back({{"destinations", hop.own.destinations},
                    {"edges", hop.own.edges},
                    {"local_edges", hop.local_edges},
                    {"sources", hop.own.sources},
                    {"remote_sources", hop.remote}});
  }
  return json;
}

ordered_json SplitCaseJson(const SplitReport& report,
                           const SplitCase& of_case) {
  const SplitCounts& counts = of_case.counts;
  const SplitTimes& times = of_case.times;
  ordered_json json = {{"parts", of_case.parts},
                       {"batches", counts.batches},
                       {"seeds", counts.seeds},
                       {"local_edges", counts.LocalEdges()},
                       {"edge_skew", counts.edge_skew},
                       {"row_skew", counts.row_skew},
                       {"edge_redundancy", counts.EdgeRedundancy()},
                       {"compute_redundancy", counts.ComputeRedundancy()},
                       {"load_redundancy", counts.LoadRedundancy()},
                       {"unshared_loads", counts.UnsharedLoads()},
                       {"whole_hops", HopsJson(counts.whole)},
                       {"part_hops", PartsJson(counts)},
                       {"micro_hops", HopsJson(counts.micro)}};
  json["sent"] = ordered_json::array();
  for (const SentRows& sent : SentBy(report, counts)) {
    json["sent"].push_back({{"layer", sent.layer},
                            {"rows", sent.rows},
                            {"remote_rows", sent.remote},
                            {"bytes", sent.bytes}});
  }
  json["loaded"] = ordered_json::array();
  for (size_t i = 0; i < counts.loaded.size(); ++i) {
    json["loaded"].push_back({{"cache", report.options.caches[i]},
                              {"micro_alone", counts.loaded[i].alone},
                              {"micro_shared", counts.loaded[i].shared},
                              {"split", counts.loaded[i].split}});
  }
  json["milliseconds"] = {{"sample_whole", times.whole * 1e3},
                          {"split", times.split * 1e3},
                          {"sample_micro", times.micro * 1e3},
                          {"ratio", times.ratio}};
  return json;
}

// The columns of a table are numbers.
TextTable SplitTable(std::vector<std::string> header) {
  std::vector<size_t> numbers(header.size());
  std::iota(numbers.begin(), numbers.end(), 0);
  return TextTable(std::move(header), std::move(numbers));
}

std::string Number(double number) { return absl::StrFormat("%.3f", number); }
std::string SignedPercent(double share) {
  return absl::StrFormat("%+.1f %%", 100 * share);
}
std::string MillisecondsCell(double seconds) {
  return absl::StrFormat("%.2f", 1e3 * seconds);
}

std::string WorkText(const SplitReport& report) {
  TextTable table =
      SplitTable({"parts", "local edges", "edge skew", "row skew", "unshared",
                  "micro: edges", "computed", "loaded", "sample ms", "split ms",
                  "micro ms", "ratio"});
  for (const SplitCase& of_case : report.cases) {
    const SplitCounts& counts = of_case.counts;
    table.AddRow({absl::StrCat(of_case.parts), Number(counts.LocalEdges()),
                  Number(counts.edge_skew), Number(counts.row_skew),
                  SignedPercent(counts.UnsharedLoads()),
                  SignedPercent(counts.EdgeRedundancy()),
                  SignedPercent(counts.ComputeRedundancy()),
                  SignedPercent(counts.LoadRedundancy()),
                  MillisecondsCell(of_case.times.whole),
                  MillisecondsCell(of_case.times.split),
                  MillisecondsCell(of_case.times.micro),
                  absl::StrFormat("%.2f", of_case.times.ratio)});
  }
  return table.ToString();
}

std::string SentText(const SplitReport& report) {
  TextTable table = SplitTable({"parts", "layer", "rows", "sent", "bytes"});
  for (const SplitCase& of_case : report.cases) {
    const uint64_t batches = of_case.counts.batches;
    for (const SentRows& sent : SentBy(report, of_case.counts)) {
      table.AddRow({absl::StrCat(of_case.parts), absl::StrCat(sent.layer),
                    FormatCount(sent.rows / batches),
                    FormatCount(sent.remote / batches),
                    FormatBytes(sent.bytes / batches)});
    }
  }
  return table.ToString();
}

std::string LoadedText(const SplitReport& report) {
  TextTable table =
      SplitTable({"parts", "cache", "micro, alone", "micro, shared", "split"});
  for (const SplitCase& of_case : report.cases) {
    const SplitCounts& counts = of_case.counts;
    for (size_t i = 0; i < counts.loaded.size(); ++i) {
      const LoadedRows& rows = counts.loaded[i];
      table.AddRow({absl::StrCat(of_case.parts),
                    absl::StrFormat("%g %%", report.options.caches[i] * 100),
                    FormatCount(rows.alone / counts.batches),
                    FormatCount(rows.shared / counts.batches),
                    FormatCount(rows.split / counts.batches)});
    }
  }
  return table.ToString();
}

}  // namespace

ordered_json ToJson(const SplitReport& report) {
  const SplitBenchOptions& options = report.options;
  ordered_json rows = ordered_json::array();
  for (const SplitCase& of_case : report.cases) {
    rows.push_back(SplitCaseJson(report, of_case));
  }
  return {{"algorithm", NameOf(options.sampling.algorithm)},
          {"fanouts", options.sampling.fanouts},
          {"batch_size", options.sampling.batch_size},
          {"rounds", options.rounds},
          {"hidden", report.hidden},
          {"precision", report.precision},
          {"feature_columns", report.feature_columns},
          {"rows", std::move(rows)}};
}

std::string ToText(const SplitReport& report) {
  const SplitBenchOptions& options = report.options;
  const SamplerOptions& sampling = options.sampling;
  return absl::StrCat(
      report.dataset, ", ", NameOf(sampling.algorithm), " [",
      absl::StrJoin(sampling.fanouts, ", "), "], ",
      FormatCount(sampling.batch_size), " seeds a batch, ", options.batches,
      " batches\nlocal: edges within a part; skew: (most - least) / mean over "
      "a "
      "batch's parts, of edges and of computed rows;\nunshared: rows that "
      "parts "
      "load more without training.share_inputs; micro: what P micro-batches of "
      "the\nsame seeds have more than the batch, of edges, computed rows and "
      "loaded rows; then the processor's\nmilliseconds to sample a batch, to "
      "split it, and to sample the micro-batches, and the ratio of both ways"
      "\n\n",
      WorkText(report),
      "\nrows of a batch behind each layer (0: features), "
      "rows that parts send each other, and their bytes,\n",
      report.hidden, " columns of ", report.precision,
      " and features of f32; gradients of hidden rows send as many back\n\n",
      SentText(report),
      "\nrows of features that P trainers load for a batch, "
      "each with a cache of this share of the vertices (presc):\nmicro-batches "
      "with the same cache each, micro-batches with P times the rows in one "
      "cache, and parts with these\n\n",
      LoadedText(report));
}

}  // namespace fgnn
