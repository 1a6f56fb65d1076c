#include "tools/fgnn/reports/bench_report.h"

#include <cstdint>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "shared/base/units.h"
#include "tools/fgnn/reports/text_table.h"

namespace fgnn {
namespace {

using nlohmann::ordered_json;

std::string Millions(double per_second) {
  return absl::StrFormat("%.1f M/s", per_second / 1e6);
}

std::string Milliseconds(double seconds, uint32_t batches) {
  return absl::StrFormat("%.3f ms", seconds * 1e3 / batches);
}

// "khop [15, 10, 5], 1,024 seeds a batch".
std::string SampleWorkload(const SampleBenchOptions& options) {
  const SamplerOptions& sampling = options.sampling;
  return absl::StrCat(NameOf(sampling.algorithm),
                      sampling.replace ? " with replacement" : "",
                      sampling.resample ? "" : " without resampling", " [",
                      absl::StrJoin(sampling.fanouts, ", "), "], ",
                      FormatCount(sampling.batch_size), " seeds a batch");
}

std::string Rounds(const SampleBenchOptions& options) {
  return absl::StrCat("the fastest of ", options.rounds, " rounds of ",
                      options.batches, " batches");
}

ordered_json StagesJson(const SampleSeconds& stages) {
  return {{"sample", stages.sample},
          {"id_map", stages.id_map},
          {"mark", stages.mark},
          {"copy", stages.copy}};
}

ordered_json AllocationsJson(const SampleRound& round, uint32_t batches) {
  if (!round.allocations) return nullptr;
  return static_cast<double>(*round.allocations) / batches;
}

void AddRow(const std::string& name, const SampleRound& round, uint32_t batches,
            TextTable& table) {
  std::string allocations = "-";
  if (round.allocations) {
    allocations = absl::StrFormat(
        "%g", static_cast<double>(*round.allocations) / batches);
  }
  table.AddRow({name, Millions(round.edges_per_second()),
                Milliseconds(round.seconds, batches),
                Milliseconds(round.stages.sample, batches),
                Milliseconds(round.stages.id_map, batches),
                Milliseconds(round.stages.copy, batches), allocations});
}

ordered_json RateJson(const ExtractBenchResult& result,
                      const std::optional<double>& seconds) {
  if (!seconds.has_value()) return nullptr;
  return result.PerSecond(*seconds);
}

ordered_json ReadsJson(const ExtractBenchResult& result) {
  if (!result.reads.has_value()) return nullptr;
  return static_cast<double>(*result.reads) / result.seconds;
}

// Describes the rows of an ExtractReport or an AggregateReport.
template <typename Report>
std::string RowsText(const Report& report, const ExtractBenchOptions& options,
                     double hit_rate) {
  std::string text = absl::StrCat(
      FormatCount(options.batch_rows), " of ", FormatCount(report.num_rows),
      " rows a batch, ", report.num_columns, " columns of ",
      std::string(NameOf(report.type)), ", ", options.threads,
      options.threads == 1 ? " thread" : " threads", "; the fastest of ",
      options.rounds, " rounds of ", options.batches, " batches\n");
  if (options.capacity == 0) return text;
  absl::StrAppend(
      &text, "hot table of ", FormatCount(options.capacity), " rows, ",
      FormatBytes(options.capacity * report.num_columns * BytesOf(report.type)),
      absl::StrFormat(": %.1f %% hits\n", hit_rate * 100));
  return text;
}

ordered_json WayJson(const AggregateBenchResult::Way& way) {
  return {{"seconds", way.seconds}, {"bytes", way.bytes}};
}

double Ratio(const SampleBenchResult& result) {
  return result.fused.edges_per_second() / result.baseline->edges_per_second();
}

}  // namespace

ordered_json ToJson(const SampleReport& report) {
  const SampleBenchOptions& options = report.options;
  const SampleRound& fused = report.result.fused;
  ordered_json document = {
      {"algorithm", NameOf(options.sampling.algorithm)},
      {"replace", options.sampling.replace},
      {"resample", options.sampling.resample},
      {"fanouts", options.sampling.fanouts},
      {"batch_size", options.sampling.batch_size},
      {"threads", options.threads},
      {"batches", options.batches},
      {"edges", fused.edges},
      {"input_nodes", fused.input_nodes},
      {"seconds", fused.seconds},
      {"edges_per_second", fused.edges_per_second()},
      {"allocations_per_batch", AllocationsJson(fused, options.batches)},
      {"workspace_bytes_per_node", report.result.workspace_bytes_per_node()},
      {"random_reads_per_second", report.random_reads_per_second},
      {"stages", StagesJson(fused.stages)}};
  if (report.result.baseline) {
    const SampleRound& baseline = *report.result.baseline;
    document["baseline"] = {
        {"name", options.baseline->name},
        {"edges", baseline.edges},
        {"seconds", baseline.seconds},
        {"edges_per_second", baseline.edges_per_second()},
        {"allocations_per_batch", AllocationsJson(baseline, options.batches)},
        {"stages", StagesJson(baseline.stages)},
        {"ratio", Ratio(report.result)}};
  }
  return document;
}

std::string ToText(const SampleReport& report) {
  const SampleBenchOptions& options = report.options;
  const SampleRound& fused = report.result.fused;
  std::string text = absl::StrCat(
      SampleWorkload(options), ", ", options.threads,
      options.threads == 1 ? " thread; " : " threads; ", Rounds(options),
      "\na batch: ", FormatCount(fused.edges / options.batches), " edges, ",
      FormatCount(fused.input_nodes / options.batches), " input nodes\n\n");
  TextTable table({"sampler", "edges", "a batch", "sample", "id map", "copy",
                   "allocations"},
                  {1, 2, 3, 4, 5, 6});
  AddRow("fgnn", fused, options.batches, table);
  if (report.result.baseline) {
    AddRow(options.baseline->name, *report.result.baseline, options.batches,
           table);
  }
  text += table.ToString();
  if (report.result.baseline) {
    absl::StrAppend(&text, "\n", absl::StrFormat("%.2f", Ratio(report.result)),
                    " times as fast as ", options.baseline->name,
                    options.baseline->makes_same_batches
                        ? ", which made the same batches\n"
                        : "\n");
  }
  absl::StrAppend(&text, "\na sampler's memory beside graph and task: ",
                  FormatBytes(report.result.workspace_bytes),
                  absl::StrFormat(", %.1f bytes a vertex\n",
                                  report.result.workspace_bytes_per_node()),
                  "random reads of the graph's indices, one thread: ",
                  Millions(report.random_reads_per_second), "\n");
  return text;
}

ordered_json ToJson(const IdMapReport& report) {
  ordered_json id_maps = ordered_json::array();
  for (const IdMapRate& rate : report.result.rates) {
    id_maps.push_back(
        {{"id_map", rate.name},
         {"chosen", rate.is_chosen},
         {"ids_per_second", rate.ids_per_second},
         {"table_bytes", rate.table_bytes},
         {"workspace_bytes", rate.workspace_bytes},
         {"random_updates_per_second", rate.random_updates_per_second}});
  }
  return {{"algorithm", NameOf(report.options.sampling.algorithm)},
          {"fanouts", report.options.sampling.fanouts},
          {"batch_size", report.options.sampling.batch_size},
          {"batches", report.options.batches},
          {"ids", report.result.num_ids},
          {"nodes", report.result.num_nodes},
          {"id_maps", std::move(id_maps)}};
}

std::string ToText(const IdMapReport& report) {
  const SampleBenchOptions& options = report.options;
  TextTable table({"id map", "ids", "table", "reserved",
                   "random updates of such a table", ""},
                  {1, 2, 3, 4});
  for (const IdMapRate& rate : report.result.rates) {
    table.AddRow({rate.name, Millions(rate.ids_per_second),
                  FormatBytes(rate.table_bytes),
                  FormatBytes(rate.workspace_bytes),
                  Millions(rate.random_updates_per_second),
                  rate.is_chosen ? "in use for this dataset" : ""});
  }
  return absl::StrCat(
      "ids of ", SampleWorkload(options), ", one thread; ", Rounds(options),
      "\na batch: ", FormatCount(report.result.num_ids / options.batches),
      " ids of ", FormatCount(report.result.num_nodes / options.batches),
      " vertices\n\n", table.ToString());
}

ordered_json ToJson(const ExtractReport& report) {
  const ExtractBenchResult& result = report.result;
  return {
      {"type", NameOf(report.type)},
      {"columns", report.num_columns},
      {"threads", report.options.threads},
      {"batch_rows", report.options.batch_rows},
      {"batches", report.options.batches},
      {"capacity", report.options.capacity},
      {"rows", result.rows},
      {"bytes", result.bytes},
      {"seconds", result.seconds},
      {"bytes_per_second", result.PerSecond(result.seconds)},
      {"copy_bytes_per_second", RateJson(result, result.copy_seconds)},
      {"uncached_bytes_per_second", RateJson(result, result.uncached_seconds)},
      {"reads_per_second", ReadsJson(result)},
      {"hit_rate", result.hit_rate}};
}

std::string ToText(const ExtractReport& report) {
  const ExtractBenchOptions& options = report.options;
  const ExtractBenchResult& result = report.result;
  std::string text = RowsText(report, options, result.hit_rate);
  TextTable table({"", "rows", "bytes", "a batch", "time / fgnn's"},
                  {1, 2, 3, 4});
  const auto add = [&](const std::string& name, double seconds) {
    table.AddRow({name, Millions(static_cast<double>(result.rows) / seconds),
                  absl::StrFormat("%.2f GB/s", result.PerSecond(seconds) / 1e9),
                  Milliseconds(seconds, options.batches),
                  absl::StrFormat("%.2f", seconds / result.seconds)});
  };
  add("fgnn", result.seconds);
  if (result.uncached_seconds) add("without table", *result.uncached_seconds);
  if (result.copy_seconds) add("plain copy", *result.copy_seconds);
  absl::StrAppend(&text, "\n", table.ToString());
  if (result.reads) {
    absl::StrAppend(
        &text, "\n", FormatCount(*result.reads / options.batches),
        absl::StrFormat(" reads of the disk a batch, %.0f a second\n",
                        static_cast<double>(*result.reads) / result.seconds));
  }
  return text;
}

ordered_json ToJson(const AggregateReport& report) {
  const ExtractBenchOptions& rows = report.options.rows;
  const AggregateBenchResult& result = report.result;
  return {{"type", NameOf(report.type)},
          {"columns", report.num_columns},
          {"threads", rows.threads},
          {"batch_rows", rows.batch_rows},
          {"batches", rows.batches},
          {"capacity", rows.capacity},
          {"rows", result.rows},
          {"destinations", result.destinations},
          {"edges", result.edges},
          {"hit_rate", result.hit_rate},
          {"extract_first", WayJson(result.extract_first)},
          {"in_place", WayJson(result.in_place)},
          {"time_ratio", result.TimeRatio()},
          {"bytes_ratio", result.BytesRatio()}};
}

std::string ToText(const AggregateReport& report) {
  const ExtractBenchOptions& rows = report.options.rows;
  const AggregateBenchResult& result = report.result;
  std::string text = RowsText(report, rows, result.hit_rate);
  absl::StrAppend(&text, "means for ",
                  FormatCount(result.destinations / rows.batches),
                  " destinations over ",
                  FormatCount(result.edges / rows.batches), " edges\n\n");
  TextTable table({"", "a batch", "bytes a batch"}, {1, 2});
  const auto add = [&](const std::string& name,
                       const AggregateBenchResult::Way& way) {
    table.AddRow({name, Milliseconds(way.seconds, rows.batches),
                  FormatBytes(way.bytes / rows.batches)});
  };
  add("extract first", result.extract_first);
  add("in place", result.in_place);
  return absl::StrCat(
      text, table.ToString(),
      absl::StrFormat("\nin place: %.2f of the time, %.2f of the bytes\n",
                      result.TimeRatio(), result.BytesRatio()));
}

}  // namespace fgnn
