#include "tools/fgnn/reports/match_report.h"

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "shared/base/json_text.h"
#include "shared/base/units.h"
#include "tools/fgnn/reports/text_table.h"

namespace fgnn {
namespace {

using nlohmann::ordered_json;

std::string Share(double share) { return absl::StrFormat("%.3f", share); }

ordered_json CaseJson(const MatchCase& of_case) {
  const MatchCounts& counts = of_case.counts;
  ordered_json kept = ordered_json::object();
  for (size_t k = 0; k < kKeptBatches.size(); ++k) {
    kept[absl::StrCat(kKeptBatches[k])] = counts.kept[k];
  }
  ordered_json belady = ordered_json::object();
  for (size_t k = 0; k < kKnownBatches.size(); ++k) {
    belady[absl::StrCat(kKnownBatches[k])] =
        counts.ShareOfNodes(counts.belady_hits[k]);
  }
  return {{"dependency", of_case.dependency},
          {"cache", of_case.cache},
          {"input_nodes", counts.input_nodes},
          {"missed", counts.missed},
          {"matched", counts.matched()},
          {"loaded", counts.loaded()},
          {"greedy", counts.greedy},
          {"best", OrNull(counts.best)},
          {"mean_match", counts.mean_match},
          {"headroom", counts.headroom},
          {"loaded_with_kept", std::move(kept)},
          {"hit_rate", counts.HitRate()},
          {"belady_hit_rate", std::move(belady)}};
}

std::vector<std::string> Cells(const MatchCase& of_case, uint32_t batches,
                               bool has_best) {
  const MatchCounts& counts = of_case.counts;
  std::vector<std::string> cells = {
      absl::StrCat(of_case.dependency),
      absl::StrFormat("%g %%", of_case.cache * 100),
      FormatCount(counts.input_nodes / batches),
      Share(counts.ShareOfNodes(counts.missed))};
  for (const uint64_t loaded : counts.kept) {
    cells.push_back(Share(counts.ShareOfNodes(loaded)));
  }
  cells.push_back(Share(counts.ShareOfNodes(counts.greedy)));
  if (has_best) {
    cells.push_back(Share(counts.ShareOfNodes(counts.best.value_or(0))));
  }
  cells.push_back(Share(counts.LeftByMatch()));
  cells.push_back(Share(counts.headroom));
  cells.push_back(Share(counts.HitRate()));
  for (const uint64_t hits : counts.belady_hits) {
    cells.push_back(Share(counts.ShareOfNodes(hits)));
  }
  return cells;
}

}  // namespace

ordered_json ToJson(const MatchReport& report) {
  const MatchBenchOptions& options = report.options;
  ordered_json rows = ordered_json::array();
  for (const MatchCase& of_case : report.result.cases) {
    rows.push_back(CaseJson(of_case));
  }
  return {{"algorithm", NameOf(options.sampling.algorithm)},
          {"fanouts", options.sampling.fanouts},
          {"batch_size", options.sampling.batch_size},
          {"nodes", report.result.num_nodes},
          {"batches", options.batches},
          {"window", options.window},
          {"rows", std::move(rows)}};
}

std::string ToText(const MatchReport& report) {
  const MatchBenchOptions& options = report.options;
  const SamplerOptions& sampling = options.sampling;
  const bool has_best = options.window <= kMostBestWindow;
  std::vector<std::string> header = {"dependency", "cache", "input nodes",
                                     "missed", "Match"};
  for (size_t k = 1; k < kKeptBatches.size(); ++k) {
    header.push_back(absl::StrCat("last ", kKeptBatches[k]));
  }
  header.emplace_back("greedy");
  if (has_best) header.emplace_back("best");
  header.insert(header.end(), {"left", "headroom", "hits"});
  for (const size_t known : kKnownBatches) {
    header.push_back(absl::StrCat("Belady ", known));
  }
  std::vector<size_t> numbers(header.size());
  for (size_t i = 0; i < numbers.size(); ++i) numbers[i] = i;
  TextTable table(header, numbers);
  for (const MatchCase& of_case : report.result.cases) {
    table.AddRow(Cells(of_case, options.batches, has_best));
  }
  return absl::StrCat(
      report.dataset, ", ", NameOf(sampling.algorithm), " [",
      absl::StrJoin(sampling.fanouts, ", "), "], ",
      FormatCount(sampling.batch_size), " seeds a batch, ", options.batches,
      " batches, windows of ", options.window,
      "\ninput nodes of a batch; shares of them that a cache of this part of "
      "the vertices misses\n(presc), and that are loaded with the rows of the "
      "batch before (Match), of the last batches,\nand with Match in a greedy",
      has_best ? " and in the best" : "",
      " order; left: of the missed rows, what Match loads;\nhit rates of that "
      "cache and of one that knows the next batches (Belady)\n\n",
      table.ToString());
}

}  // namespace fgnn
