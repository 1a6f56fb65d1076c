#include "tools/fgnn/reports/match_report.h"

#include <algorithm>
#include <cstdint>
#include <numeric>
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

ordered_json RowsJson(const RowCounts& rows) {
  return {{"input_nodes", rows.input_nodes},
          {"missed", rows.missed},
          {"matched", rows.matched()},
          {"loaded", rows.loaded()},
          {"greedy", rows.greedy}};
}

ordered_json MatchCaseJson(const MatchCase& of_case) {
  const MatchCounts& counts = of_case.counts;
  const RowCounts& all = counts.all;
  ordered_json json = {{"dependency", of_case.dependency},
                       {"cache", of_case.cache}};
  json.update(RowsJson(all));
  json["best"] = OrNull(counts.best);
  json["match_degree"] = counts.mean_degree;
  json["match_degree_spread"] = counts.degree_spread;
  json["mean_match"] = counts.mean_match;
  json["headroom"] = counts.headroom;
  json["loaded_with_kept"] = ordered_json::object();
  for (size_t k = 0; k < kKeptBatches.size(); ++k) {
    json["loaded_with_kept"][absl::StrCat(kKeptBatches[k])] = all.kept[k];
  }
  json["hit_rate"] = all.HitRate();
  json["belady_hit_rate"] = ordered_json::object();
  for (size_t k = 0; k < kKnownBatches.size(); ++k) {
    json["belady_hit_rate"][absl::StrCat(kKnownBatches[k])] =
        all.ShareOfNodes(all.belady_hits[k]);
  }
  json["trainers"] = ordered_json::array();
  for (const RowCounts& rows : counts.trainers) {
    json["trainers"].push_back(RowsJson(rows));
  }
  return json;
}

// The columns of a table are numbers.
TextTable MatchTable(const std::vector<std::string>& header) {
  std::vector<size_t> numbers(header.size());
  std::iota(numbers.begin(), numbers.end(), 0);
  return TextTable(header, numbers);
}

std::vector<std::string> NamesOf(const MatchCase& of_case) {
  return {absl::StrCat(of_case.dependency),
          absl::StrFormat("%g %%", of_case.cache * 100)};
}

std::vector<std::string> MatchCells(const MatchCase& of_case, uint32_t batches,
                                    bool has_best) {
  const MatchCounts& counts = of_case.counts;
  const RowCounts& all = counts.all;
  std::vector<std::string> cells = NamesOf(of_case);
  cells.push_back(FormatCount(all.input_nodes / batches));
  cells.push_back(Share(all.ShareOfNodes(all.missed)));
  for (const uint64_t loaded : all.kept) {
    cells.push_back(Share(all.ShareOfNodes(loaded)));
  }
  cells.push_back(Share(all.ShareOfNodes(all.greedy)));
  if (has_best) {
    cells.push_back(Share(all.ShareOfNodes(counts.best.value_or(0))));
  }
  cells.push_back(Share(all.LeftByMatch()));
  cells.push_back(Share(counts.mean_degree));
  cells.push_back(Share(counts.degree_spread));
  cells.push_back(Share(counts.headroom));
  cells.push_back(Share(all.HitRate()));
  for (const uint64_t hits : all.belady_hits) {
    cells.push_back(Share(all.ShareOfNodes(hits)));
  }
  return cells;
}

// Returns a table of the trainers; empty: there is one.
std::string TrainersText(const MatchBenchResult& result, uint32_t trainers) {
  if (trainers == 1) return "";
  TextTable table = MatchTable({"dependency", "cache", "trainer", "input nodes",
                                "missed", "Match", "greedy"});
  for (const MatchCase& of_case : result.cases) {
    for (uint32_t t = 0; t < trainers; ++t) {
      const RowCounts& rows = of_case.counts.trainers[t];
      std::vector<std::string> cells = NamesOf(of_case);
      cells.push_back(absl::StrCat(t));
      for (const uint64_t count :
           {rows.input_nodes, rows.missed, rows.loaded(), rows.greedy}) {
        cells.push_back(FormatCount(count));
      }
      table.AddRow(cells);
    }
  }
  return absl::StrCat("\nrows of each trainer\n\n", table.ToString());
}

}  // namespace

ordered_json ToJson(const MatchReport& report) {
  const MatchBenchOptions& options = report.options;
  ordered_json rows = ordered_json::array();
  for (const MatchCase& of_case : report.result.cases) {
    rows.push_back(MatchCaseJson(of_case));
  }
  return {{"algorithm", NameOf(options.sampling.algorithm)},
          {"fanouts", options.sampling.fanouts},
          {"batch_size", options.sampling.batch_size},
          {"nodes", report.result.num_nodes},
          {"row_bytes", report.row_bytes},
          {"batches", options.batches},
          {"window", options.window},
          {"trainers", options.trainers},
          {"rows", std::move(rows)}};
}

std::string ToText(const MatchReport& report) {
  const MatchBenchOptions& options = report.options;
  const SamplerOptions& sampling = options.sampling;
  const bool has_best =
      options.window <= kMostBestWindow && options.trainers == 1;
  std::vector<std::string> header = {"dependency", "cache", "input nodes",
                                     "missed", "Match"};
  for (size_t k = 1; k < kKeptBatches.size(); ++k) {
    header.push_back(absl::StrCat("last ", kKeptBatches[k]));
  }
  header.emplace_back("greedy");
  if (has_best) header.emplace_back("best");
  header.insert(header.end(), {"left", "match", "spread", "headroom", "hits"});
  for (const size_t known : kKnownBatches) {
    header.push_back(absl::StrCat("Belady ", known));
  }
  TextTable table = MatchTable(header);
  for (const MatchCase& of_case : report.result.cases) {
    table.AddRow(MatchCells(of_case, options.batches, has_best));
  }
  return absl::StrCat(
      report.dataset, ", ", NameOf(sampling.algorithm), " [",
      absl::StrJoin(sampling.fanouts, ", "), "], ",
      FormatCount(sampling.batch_size), " seeds a batch, ", options.batches,
      " batches, windows of ", options.window, ", trainers: ", options.trainers,
      report.row_bytes == 0
          ? ""
          : absl::StrCat(", ", FormatBytes(report.row_bytes), " a row"),
      "\ninput nodes of a batch; shares of them that a cache of this part of "
      "the vertices misses\n(presc), and that are loaded with the rows of the "
      "trainer's batch before (Match), of its last\nbatches, and with Match in "
      "the order of sampling.order: matched (greedy)",
      has_best ? " and in the best one" : "",
      ";\nleft: of the missed rows, what Match loads; match: missed rows that "
      "two "
      "batches of a window share,\nby those of the one that misses fewer, mean "
      "of all pairs, and spread, the largest less the smallest\n(FastGL's "
      "match "
      "degree); hit rates of that cache and of one that knows the next batches "
      "(Belady)\n\n",
      table.ToString(), TrainersText(report.result, options.trainers));
}

}  // namespace fgnn
