#include "sampler_service/sampling/cpu/draws/draw_large.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "absl/strings/str_cat.h"
#include "tests/reference/sampling_reference.h"

namespace fgnn {
namespace {

constexpr PhiloxKey kKey = {17, 4};

TEST(LargeDrawTest, EqualsReferenceForDegreesBeyond32Bits) {
  LargeDraw large(300);
  for (const uint64_t degree :
       {uint64_t{301}, uint64_t{1000}, uint64_t{1} << 32,
        (uint64_t{1} << 32) + 5, uint64_t{1} << 50}) {
    for (const int32_t fanout : {1, 2, 3, 64, 300}) {
      SCOPED_TRACE(absl::StrCat("degree=", degree, " fanout=", fanout));
      const auto draws = static_cast<uint32_t>(fanout);
      EXPECT_THAT(large.Draw(kKey, 7, degree, draws),
                  testing::ElementsAreArray(reference::UniformPlaces(
                      kKey, 7, degree, fanout, /*replace=*/false)));
      EXPECT_THAT(large.DrawAny(kKey, 7, degree, draws),
                  testing::ElementsAreArray(reference::UniformPlaces(
                      kKey, 7, degree, fanout, /*replace=*/true)));
    }
  }
}

TEST(LargeDrawTest, PlacesAreDistinctWhenAlmostAllAreDrawn) {
  constexpr uint32_t kFanout = 65535;
  LargeDraw large(kFanout);
  for (const uint64_t degree : {uint64_t{65536}, uint64_t{70000}}) {
    const auto places = large.Draw(kKey, 1, degree, kFanout);
    const std::set<uint64_t> distinct(places.begin(), places.end());
    EXPECT_EQ(distinct.size(), kFanout);
    EXPECT_LT(*distinct.rbegin(), degree);
  }
}

}  // namespace
}  // namespace fgnn
