#include "tools/fgnn/reports/run_plot.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <regex>
#include <string>
#include <vector>

namespace fgnn {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

PlottedRun RunOf(const std::string& name,
                 const std::vector<std::string>& lines) {
  PlottedRun run = {name, {}};
  for (const std::string& line : lines) {
    run.epochs.push_back(EpochMetrics::parse(line));
  }
  return run;
}

size_t Count(const std::string& text, const std::string& pattern) {
  const std::regex regex(pattern);
  return static_cast<size_t>(
      std::distance(std::sregex_iterator(text.begin(), text.end(), regex), {}));
}

TEST(RunPlotTest, DrawsALineOfEachRunInEachPlot) {
  const std::string svg = ToSvg(
      {RunOf("a < b",
             {R"({"epoch":1,"loss":2,"valid_accuracy":0.25,"cache_hit_rate":0.5,
                "stages":{"sample":1,"mark":0,"train":2}})",
              R"({"epoch":2,"loss":1,"valid_accuracy":null,"cache_hit_rate":0.5,
                "stages":{"sample":1,"mark":0,"train":2}})",
              R"({"epoch":3,"loss":0.5,"valid_accuracy":0.75,
                "cache_hit_rate":0.6,
                "stages":{"sample":1,"mark":0,"train":2}})"}),
       RunOf("second",
             {R"({"epoch":1,"loss":2,"valid_accuracy":0.5,"cache_hit_rate":0,
                "stages":{"train":3},"evaluate_seconds":1})",
              R"({"epoch":2,"loss":1.5,"valid_accuracy":0.6,"cache_hit_rate":0,
                "stages":{"train":3},"evaluate_seconds":1})"})});
  EXPECT_THAT(svg, AllOf(testing::StartsWith("<svg xmlns="),
                         testing::EndsWith("</svg>\n"), Not(HasSubstr("nan"))));
  // Each name stands in the legend and above its bar.
  EXPECT_EQ(Count(svg, ">a &lt; b</text>"), 2U);
  EXPECT_EQ(Count(svg, ">second</text>"), 2U);
  for (const char* title :
       {"Loss in training", "Validation accuracy",
        "Hit rate of the feature cache", "Where the time goes"}) {
    EXPECT_THAT(svg, HasSubstr(title));
  }
  EXPECT_EQ(Count(svg, "<polyline"), 6U);
  // An epoch that was not validated is left out of its line.
  EXPECT_EQ(Count(svg, "points=\"[0-9.,]+ [0-9.,]+ [0-9.,]+ \""), 2U);
  // Stages that took no time have no part.
  EXPECT_THAT(svg, AllOf(HasSubstr(">sample<"), HasSubstr(">train<"),
                         HasSubstr(">evaluate<"), Not(HasSubstr(">mark<"))));
}

TEST(RunPlotTest, ShowsRanksOfLinksAndNoHitRateWithoutACache) {
  const std::string svg = ToSvg({RunOf(
      "links", {R"({"epoch":1,"loss":2,"valid_mrr":0.25,"valid_mean_rank":9,
                    "cache_hit_rate":0.0})"})});
  EXPECT_THAT(svg,
              AllOf(HasSubstr("mean reciprocal rank"),
                    HasSubstr(">Validation mean rank<"),
                    Not(HasSubstr("accuracy")), Not(HasSubstr("Hit rate"))));
  EXPECT_EQ(Count(svg, "<circle"), 3U) << "an epoch alone is a point";
}

TEST(RunPlotTest, ShowsMatchedRowsOfRunsThatCopyAny) {
  const PlottedRun matches = RunOf(
      "m", {R"({"epoch":1,"loss":2,"cache_hit_rate":0,"match_rate":0.25})",
            R"({"epoch":2,"loss":1,"cache_hit_rate":0,"match_rate":0.5})"});
  const PlottedRun does_not =
      RunOf("n", {R"({"epoch":1,"loss":2,"match_rate":0})"});
  EXPECT_THAT(ToSvg({matches, does_not}),
              AllOf(HasSubstr(">Rows copied from the batch before<"),
                    HasSubstr("share of the cache's misses"),
                    Not(HasSubstr("Hit rate"))));
  EXPECT_THAT(ToSvg({does_not}), Not(HasSubstr("Rows copied")));
}

TEST(RunPlotTest, ScoresOfTargetsHavePlotsToo) {
  EXPECT_THAT(
      ToSvg({RunOf("r", {R"({"epoch":1,"loss":2,"valid_rmse":0.25,
                             "valid_mae":0.125,"valid_r2":0.5})"})}),
      AllOf(HasSubstr(">Validation RMSE<"), HasSubstr(">Validation R2<"),
            HasSubstr(">mean of an epoch<"), Not(HasSubstr("nats"))));
  EXPECT_THAT(ToSvg({RunOf("s", {R"({"epoch":1,"loss":2,"valid_micro_f1":0.25,
                             "valid_macro_f1":0.125})"})}),
              AllOf(HasSubstr(">Validation micro-F1<"),
                    HasSubstr(">mean of an epoch, in nats<")));
}

}  // namespace
}  // namespace fgnn
