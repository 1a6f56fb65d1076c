#include "trainer_service/compute/finite.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

namespace fgnn {
namespace {

TEST(AllFiniteTest, FindsOneWrongNumberAnywhere) {
  constexpr float kMost = std::numeric_limits<float>::max();
  constexpr float kLeast = std::numeric_limits<float>::denorm_min();
  for (const size_t count : {0U, 1U, 7U, 16U, 33U}) {
    std::vector<float> values(count, kMost);
    for (size_t i = 0; i < count; i += 3) values[i] = i % 2 ? -kLeast : -kMost;
    EXPECT_TRUE(AllFinite(values)) << count;
    for (float& value : values) {
      const float right = value;
      for (const float wrong : {INFINITY, -INFINITY, NAN, -NAN}) {
        value = wrong;
        EXPECT_FALSE(AllFinite(values)) << count << " " << wrong;
      }
      value = right;
    }
  }
}

}  // namespace
}  // namespace fgnn
