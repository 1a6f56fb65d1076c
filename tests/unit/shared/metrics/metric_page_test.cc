#include "shared/metrics/metric_page.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <ctime>
#include <map>
#include <sstream>

namespace fgnn {
namespace {

using testing::HasSubstr;

TEST(MetricPageTest, SamplesOfOneNameAreOneMetricInOrder) {
  MetricPage page;
  page.AddCounter("fgnn_stage_seconds_total", "Seconds.", 1.5,
                  {{"stage", "sample"}});
  page.AddGauge("fgnn_jobs", "Jobs.", 2);
  page.AddCounter("fgnn_stage_seconds_total", "Other words.", 2,
                  {{"stage", "copy"}});
  EXPECT_EQ(page.Text(),
            "# HELP fgnn_stage_seconds_total Seconds.\n"
            "# TYPE fgnn_stage_seconds_total counter\n"
            "fgnn_stage_seconds_total{stage=\"sample\"} 1.5\n"
            "fgnn_stage_seconds_total{stage=\"copy\"} 2\n"
            "# HELP fgnn_jobs Jobs.\n"
            "# TYPE fgnn_jobs gauge\n"
            "fgnn_jobs 2\n");
}

TEST(MetricPageTest, CountersKeepAllDigitsOfAWholeNumber) {
  MetricPage page;
  page.AddCounter("fgnn_edges_total", "Edges.", 9'007'199'254'740'991.0);
  EXPECT_THAT(page.Text(), HasSubstr("fgnn_edges_total 9007199254740991\n"));
}

TEST(MetricPageTest, TextInLabelsEndsNoSample) {
  MetricPage page;
  page.AddGauge("fgnn_x", "X.", 1, {{"device", "a\"b\\c\nd"}});
  EXPECT_THAT(page.Text(), HasSubstr("{device=\"a\\\"b\\\\c\\nd\"} 1\n"));
}

TEST(MetricPageTest, AProcessTellsOfItself) {
  MetricPage page;
  AddProcessMetrics("1.2.3", page);
  std::map<std::string, double> values;
  std::istringstream lines(page.Text());
  for (std::string line; std::getline(lines, line);) {
    const size_t blank = line.rfind(' ');
    if (line[0] != '#')
      values[line.substr(0, blank)] = std::stod(line.substr(blank));
  }
  EXPECT_EQ(values["fgnn_build_info{version=\"1.2.3\"}"], 1);
  EXPECT_GT(values["process_cpu_seconds_total"], 0);
  EXPECT_GT(values["process_resident_memory_bytes"], 100'000);
  EXPECT_GE(values["process_virtual_memory_bytes"],
            values["process_resident_memory_bytes"]);
  EXPECT_GE(values["process_open_fds"], 3);
  EXPECT_LE(values["process_open_fds"], values["process_max_fds"]);
  const auto now = static_cast<double>(std::time(nullptr));
  EXPECT_NEAR(values["process_start_time_seconds"], now, 600);
}

}  // namespace
}  // namespace fgnn
