#include "tools/plot/bar_plot.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace fgnn {
namespace {

using testing::HasSubstr;

TEST(BarPlotTest, PartsLieBesideEachOtherInTheirColours) {
  const BarPlot plot = {.title = "t",
                        .x_label = "seconds",
                        .parts = {"a", "b"},
                        .bars = {{"first", {1, 3}}, {"second", {2, 0}}}};
  const std::string shapes = DrawBars(plot, {100, 50, 400, 200});
  // Four seconds are 400 pixels.
  EXPECT_THAT(shapes, HasSubstr("<rect x=\"100.0\" y=\"94.0\" width=\"100.0\" "
                                "height=\"16.0\" fill=\"#0072b2\"/>"));
  EXPECT_THAT(shapes, HasSubstr("<rect x=\"200.0\" y=\"94.0\" width=\"300.0\" "
                                "height=\"16.0\" fill=\"#d55e00\"/>"));
  EXPECT_THAT(shapes, HasSubstr("<rect x=\"100.0\" y=\"134.0\" "
                                "width=\"200.0\""));
  EXPECT_THAT(shapes, HasSubstr(">seconds</text>"));
  EXPECT_EQ(HeightOf(plot, 400), 20 + 6 + 2 * 40);
}

}  // namespace
}  // namespace fgnn
