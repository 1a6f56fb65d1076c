#include "tools/plot/plot_axis.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

namespace fgnn {
namespace {

using testing::ElementsAre;

std::vector<std::string> TextsOf(const PlotAxis& axis) {
  std::vector<std::string> texts;
  for (const double tick : axis.Ticks()) texts.push_back(axis.TextOf(tick));
  return texts;
}

TEST(PlotAxisTest, EndsAtRoundNumbersAroundTheValues) {
  EXPECT_THAT(TextsOf(MakeAxis(PlotScale::kNumbers, {0.42, NAN, 1.93}, 4)),
              ElementsAre("0", "0.5", "1", "1.5", "2"));
  EXPECT_THAT(TextsOf(MakeAxis(PlotScale::kFittedShares, {0.713, 0.781}, 5)),
              ElementsAre("70 %", "72 %", "74 %", "76 %", "78 %", "80 %"));
  EXPECT_THAT(TextsOf(MakeAxis(PlotScale::kAmounts, {7, 9}, 5)),
              ElementsAre("0", "2", "4", "6", "8", "10"));
}

TEST(PlotAxisTest, CountsHaveWholeTicksBetweenTheirEnds) {
  EXPECT_THAT(TextsOf(MakeAxis(PlotScale::kCounts, {1, 2, 3}, 8)),
              ElementsAre("1", "2", "3"));
  EXPECT_THAT(TextsOf(MakeAxis(PlotScale::kCounts, {1, 30}, 8)),
              ElementsAre("5", "10", "15", "20", "25", "30"));
}

TEST(PlotAxisTest, OneValueOrNoneHasARangeToo) {
  for (const PlotScale scale :
       {PlotScale::kShares, PlotScale::kFittedShares, PlotScale::kNumbers,
        PlotScale::kAmounts, PlotScale::kCounts}) {
    for (const std::vector<double>& values : {std::vector<double>{},
                                              {0},
                                              {0.3},
                                              {NAN},
                                              {-5, -5},
                                              {0.5, 0.5 + 1e-16},
                                              {1e300}}) {
      const PlotAxis axis = MakeAxis(scale, values, 4);
      EXPECT_LT(axis.least, axis.most);
      EXPECT_LE(axis.Ticks().size(), 6U);
    }
  }
}

}  // namespace
}  // namespace fgnn
