#include "tools/plot/svg_shapes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace fgnn {
namespace {

using testing::HasSubstr;

TEST(SvgShapesTest, LongNamesAreCutBetweenCharacters) {
  EXPECT_EQ(Shortened("abc", 3), "abc");
  EXPECT_EQ(Shortened("abcd", 3), "ab…");
  EXPECT_EQ(Shortened("äöüß", 3), "äö…");
}

TEST(SvgShapesTest, ALegendWrapsWhereItsRoomEnds) {
  const DrawnLegend one = DrawLegend({"aaaa", "bbbb"}, {10, 20, 400, 0}, 4);
  EXPECT_EQ(one.height, 20);
  const DrawnLegend two = DrawLegend({"aaaa", "bbbb"}, {10, 20, 100, 0}, 4);
  EXPECT_EQ(two.height, 40);
  EXPECT_THAT(two.shapes, HasSubstr("<text x=\"40.0\" y=\"34.0\" >aaaa<"));
  EXPECT_THAT(two.shapes, HasSubstr("<text x=\"40.0\" y=\"54.0\" >bbbb<"));
  EXPECT_EQ(DrawLegend({}, {0, 0, 100, 0}, 4).height, 0);
}

}  // namespace
}  // namespace fgnn
