#include "tools/fgnn/reports/bench_report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <vector>

namespace fgnn {
namespace {

using testing::HasSubstr;
using testing::Not;

SampleReport SmallReport() {
  SampleReport report;
  report.options.batches = 2;
  report.result.fused = {.seconds = 0.5,
                         .edges = 2'000'000,
                         .input_nodes = 1000,
                         .allocations = 0,
                         .stages = {.sample = 0.25f, .id_map = 0.125f}};
  report.result.workspace_bytes = 21'000'000;
  report.result.num_nodes = 2'000'000;
  report.random_reads_per_second = 1e8;
  return report;
}

TEST(BenchReportTest, NamesEveryField) {
  const nlohmann::ordered_json json = ToJson(SmallReport());
  std::vector<std::string> names;
  for (const auto& [name, value] : json.items()) names.push_back(name);
  EXPECT_THAT(names, testing::ElementsAre(
                         "algorithm", "replace", "resample", "fanouts",
                         "batch_size", "threads", "batches", "edges",
                         "input_nodes", "seconds", "edges_per_second",
                         "allocations_per_batch", "workspace_bytes_per_node",
                         "random_reads_per_second", "stages"));
  EXPECT_EQ(json["edges_per_second"], 4e6);
  EXPECT_EQ(json["allocations_per_batch"], 0.0);
  EXPECT_EQ(json["workspace_bytes_per_node"], 10.5);
  EXPECT_THAT(ToText(SmallReport()), HasSubstr("10.5 bytes a vertex"));
  EXPECT_EQ(json["stages"]["id_map"], 0.125);
}

TEST(BenchReportTest, SaysNullWhereAllocationsAreNotCounted) {
  SampleReport report = SmallReport();
  report.result.fused.allocations.reset();
  EXPECT_TRUE(ToJson(report)["allocations_per_batch"].is_null());
}

TEST(BenchReportTest, ComparesWithABaselineWhereOneWasMeasured) {
  SampleReport report = SmallReport();
  EXPECT_THAT(ToText(report), Not(HasSubstr("times as fast")));
  report.options.baseline = SampleBaseline{"two-step", nullptr, true};
  report.result.baseline = report.result.fused;
  report.result.baseline->seconds = 2;
  report.result.baseline->allocations = 3;
  EXPECT_THAT(ToText(report),
              HasSubstr("4.00 times as fast as two-step, which made the same"));
  EXPECT_THAT(ToText(report), HasSubstr("4.0 M/s"));
  const nlohmann::ordered_json json = ToJson(report);
  EXPECT_EQ(json["baseline"]["ratio"], 4.0);
  EXPECT_EQ(json["baseline"]["allocations_per_batch"], 1.5);
}

TEST(BenchReportTest, SaysHowExtractionComparesWithAPlainCopy) {
  ExtractReport report;
  report.options.capacity = 250;
  report.num_rows = 1000;
  report.num_columns = 2;
  report.type = FeatureType::kBfloat16;
  report.result = {.rows = 1000,
                   .bytes = 4000,
                   .hit_rate = 0.25,
                   .seconds = 2,
                   .reads = std::nullopt,
                   .uncached_seconds = 4,
                   .copy_seconds = 1};
  nlohmann::ordered_json json = ToJson(report);
  EXPECT_EQ(json["type"], "bf16");
  EXPECT_EQ(json["rows"], 1000);
  EXPECT_EQ(json["bytes_per_second"], 2000.0);
  EXPECT_EQ(json["copy_bytes_per_second"], 4000.0);
  EXPECT_EQ(json["uncached_bytes_per_second"], 1000.0);
  EXPECT_EQ(json["hit_rate"], 0.25);
  EXPECT_THAT(ToText(report), HasSubstr("hot table of 250 rows, 1000 B: 25.0"));
  EXPECT_THAT(ToText(report), HasSubstr("plain copy"));

  EXPECT_TRUE(json["reads_per_second"].is_null());
  report.result.reads = 100;
  EXPECT_EQ(ToJson(report)["reads_per_second"], 50.0);
  EXPECT_THAT(ToText(report), HasSubstr("reads of the disk a batch, 50 a"));

  report.options.capacity = 0;
  report.result.uncached_seconds.reset();
  report.result.copy_seconds.reset();
  json = ToJson(report);
  EXPECT_TRUE(json["copy_bytes_per_second"].is_null());
  EXPECT_TRUE(json["uncached_bytes_per_second"].is_null());
  EXPECT_THAT(ToText(report), Not(HasSubstr("table of")));
  EXPECT_THAT(ToText(report), Not(HasSubstr("plain copy")));
}

TEST(BenchReportTest, SaysWhatAggregatingInPlaceSaves) {
  AggregateReport report;
  report.options.rows.batches = 2;
  report.options.rows.capacity = 250;
  report.num_rows = 1000;
  report.num_columns = 2;
  report.result.rows = 400;
  report.result.destinations = 200;
  report.result.edges = 1000;
  report.result.hit_rate = 0.25;
  report.result.extract_first = {.seconds = 2, .bytes = 4096};
  report.result.in_place = {.seconds = 1, .bytes = 3072};
  const nlohmann::ordered_json json = ToJson(report);
  EXPECT_EQ(json["edges"], 1000);
  EXPECT_EQ(json["extract_first"]["bytes"], 4096);
  EXPECT_EQ(json["in_place"]["seconds"], 1.0);
  EXPECT_EQ(json["time_ratio"], 0.5);
  EXPECT_EQ(json["bytes_ratio"], 0.75);
  const std::string text = ToText(report);
  EXPECT_THAT(text, HasSubstr("hot table of 250 rows, 1.95 KiB: 25.0 % hits"));
  EXPECT_THAT(text, HasSubstr("for 100 destinations over 500 edges"));
  EXPECT_THAT(text, HasSubstr("0.50 of the time, 0.75 of the bytes"));
}

}  // namespace
}  // namespace fgnn
