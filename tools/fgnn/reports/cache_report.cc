#include "tools/fgnn/reports/cache_report.h"

#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "shared/base/units.h"
#include "tools/fgnn/reports/score_text.h"
#include "tools/fgnn/reports/text_table.h"
#include "tools/plot/line_plot.h"

namespace fgnn {
namespace {

using nlohmann::ordered_json;

// Returns the bytes of an epoch that the cache does not have.
double BytesMissed(const CacheReport& report, double hit_rate) {
  return (1 - hit_rate) * report.result.input_nodes *
         static_cast<double>(report.row_bytes);
}

std::string CacheWorkload(const CacheReport& report) {
  const SamplerOptions& sampling = report.options.sampling;
  return absl::StrCat(report.dataset, ", ", NameOf(sampling.algorithm), " [",
                      absl::StrJoin(sampling.fanouts, ", "), "], ",
                      FormatCount(sampling.batch_size), " seeds a batch");
}

// Returns the policy with what it found: "auto (shrunk, 4)".
std::string NameOf(const CachePolicyResult& policy) {
  if (policy.estimator.empty()) return policy.policy;
  return absl::StrCat(policy.policy, " (", policy.estimator, ", ",
                      policy.num_epochs, ")");
}

}  // namespace

ordered_json ToJson(const CacheReport& report) {
  const CacheBenchResult& result = report.result;
  ordered_json policies = ordered_json::array();
  ordered_json rows = ordered_json::array();
  for (const CachePolicyResult& policy : result.policies) {
    ordered_json entry = {{"policy", policy.policy},
                          {"hotness_seconds", policy.hotness_seconds},
                          {"ranking_seconds", policy.ranking_seconds},
                          {"presampled_epochs", policy.num_epochs}};
    if (!policy.estimator.empty()) entry["estimator"] = policy.estimator;
    policies.push_back(std::move(entry));
    for (size_t i = 0; i < policy.hit_rates.size(); ++i) {
      rows.push_back(
          {{"policy", policy.policy},
           {"capacity", report.options.capacities[i]},
           {"hit_rate", policy.hit_rates[i]},
           {"optimal_hit_rate", result.optimal_hit_rates[i]},
           {"bytes_missed", BytesMissed(report, policy.hit_rates[i])}});
    }
  }
  ordered_json similarity = nullptr;
  if (result.similarity) similarity = *result.similarity;
  return {{"algorithm", NameOf(report.options.sampling.algorithm)},
          {"fanouts", report.options.sampling.fanouts},
          {"batch_size", report.options.sampling.batch_size},
          {"nodes", report.num_nodes},
          {"row_bytes", report.row_bytes},
          {"epochs", report.options.epochs},
          {"threads", report.options.threads},
          {"input_nodes_per_epoch", result.input_nodes},
          {"epoch_seconds", result.epoch_seconds},
          {"similarity", std::move(similarity)},
          {"policies", std::move(policies)},
          {"rows", std::move(rows)}};
}

std::string ToText(const CacheReport& report) {
  const CacheBenchResult& result = report.result;
  std::vector<std::string> header = {"policy"};
  std::vector<size_t> numbers;
  for (const double capacity : report.options.capacities) {
    header.push_back(absl::StrCat(capacity * 100, " %"));
    numbers.push_back(numbers.size() + 1);
  }
  header.insert(header.end(), {"missed", "hotness", "ranking", "epochs"});
  for (int i = 0; i < 4; ++i) numbers.push_back(numbers.size() + 1);
  TextTable table(header, numbers);
  for (const CachePolicyResult& policy : result.policies) {
    std::vector<std::string> cells = {NameOf(policy)};
    for (const double rate : policy.hit_rates)
      cells.push_back(FormatShare(rate));
    cells.push_back(policy.hit_rates.empty()
                        ? ""
                        : FormatBytes(static_cast<uint64_t>(
                              BytesMissed(report, policy.hit_rates.back()))));
    cells.push_back(absl::StrFormat("%.3f s", policy.hotness_seconds));
    cells.push_back(absl::StrFormat("%.3f s", policy.ranking_seconds));
    cells.push_back(absl::StrCat(policy.num_epochs));
    table.AddRow(std::move(cells));
  }
  std::vector<std::string> cells = {"(optimum)"};
  for (const double rate : result.optimal_hit_rates) {
    cells.push_back(FormatShare(rate));
  }
  table.AddRow(std::move(cells));
  std::string text = absl::StrCat(
      CacheWorkload(report), "; hit rates over ", report.options.epochs,
      report.options.epochs == 1 ? " epoch" : " epochs",
      ", bytes missed in one at the largest capacity\nan epoch: ",
      FormatCount(static_cast<uint64_t>(result.input_nodes)),
      " input nodes, sampled in ",
      absl::StrFormat("%.3f s", result.epoch_seconds), " by ",
      report.options.threads,
      report.options.threads == 1 ? " thread\n\n" : " threads\n\n",
      table.ToString());
  if (result.similarity) {
    absl::StrAppend(&text, "\nfootprints of two epochs are similar by ",
                    FormatShare(*result.similarity), "\n");
  }
  return text;
}

std::string ToSvg(const CacheReport& report) {
  LinePlot plot = {.title = CacheWorkload(report),
                   .x_label = "capacity of the cache, of all vertices",
                   .y_label = "hit rate",
                   .xs = CurveCapacities(report.options),
                   .lines = {}};
  for (const CachePolicyResult& policy : report.result.policies) {
    plot.lines.push_back({NameOf(policy), policy.curve, false});
  }
  plot.lines.push_back({"optimum", report.result.optimal_curve, true});
  return ToSvg(plot);
}

}  // namespace fgnn
