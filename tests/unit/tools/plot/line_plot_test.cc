#include "tools/plot/line_plot.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <regex>

namespace fgnn {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

// What `pattern`'s group finds, in order.
std::vector<std::string> FindAll(const std::string& text,
                                 const std::string& pattern) {
  const std::regex regex(pattern);
  std::vector<std::string> found;
  for (std::sregex_iterator at(text.begin(), text.end(), regex), end; at != end;
       ++at) {
    found.push_back((*at)[1]);
  }
  return found;
}

TEST(LinePlotTest, DrawsLinesWhereTheirValuesAre) {
  const std::string svg = ToSvg(
      {.title = "a < b",
       .x_label = "x & y",
       .y_label = "rate",
       .xs = {0, 0.1, 0.3},
       .lines = {{"low", {0, 0.25, 0.5}, false}, {"high", {0, 0.5, 1}, true}}});
  EXPECT_THAT(svg, testing::StartsWith("<svg xmlns="));
  EXPECT_THAT(svg, testing::EndsWith("</svg>\n"));
  EXPECT_THAT(svg, HasSubstr(">a &lt; b</text>"));
  EXPECT_THAT(svg, HasSubstr(">x &amp; y</text>"));
  // 520 by 330 pixels from (70, 380) on; the first line lies above.
  EXPECT_THAT(FindAll(svg, "<polyline points=\"([^\"]*) \""),
              ElementsAre("70.0,380.0 243.3,215.0 590.0,50.0",
                          "70.0,380.0 243.3,297.5 590.0,215.0"));
  // The legend goes by the lines' ends.
  EXPECT_THAT(FindAll(svg, ">(low|high)</text>"), ElementsAre("high", "low"));
  EXPECT_EQ(FindAll(svg, "(stroke-dasharray)").size(), 2U);
  EXPECT_THAT(
      FindAll(svg, ">([0-9.]+ %)</text>"),
      ElementsAre("0 %", "20 %", "40 %", "60 %", "80 %", "100 %",  //
                  "0 %", "5 %", "10 %", "15 %", "20 %", "25 %", "30 %"));
}

TEST(LinePlotTest, EveryLineOfManyHasAColourAndAPlace) {
  LinePlot plot;
  plot.xs = {0, 1};
  for (int i = 0; i < 12; ++i) {
    plot.lines.push_back({"line", {0, i / 12.0}, false});
  }
  const std::string svg = ToSvg(plot);
  EXPECT_EQ(FindAll(svg, "(<polyline)").size(), 12U);
  EXPECT_EQ(FindAll(svg, "(>line<)").size(), 12U);
}

TEST(LinePlotTest, TheLabelStandsBesideTheLongestTick) {
  LinePlot plot = {.title = "",
                   .x_label = "",
                   .y_label = "rate",
                   .xs = {1, 2},
                   .lines = {{"line", {2, 3}}},
                   .x_scale = PlotScale::kCounts,
                   .y_scale = PlotScale::kNumbers};
  EXPECT_THAT(ToSvg(plot), HasSubstr("rotate(-90 34 "));
  plot.lines[0].ys = {0.0002021, 0.0002079};
  EXPECT_THAT(ToSvg(plot), HasSubstr("rotate(-90 18 "));
}

TEST(LinePlotTest, NothingToDrawIsAnEmptyFrame) {
  const std::string svg = ToSvg(LinePlot());
  EXPECT_THAT(svg, Not(HasSubstr("nan")));
  EXPECT_THAT(svg, Not(HasSubstr("polyline")));
}

}  // namespace
}  // namespace fgnn
