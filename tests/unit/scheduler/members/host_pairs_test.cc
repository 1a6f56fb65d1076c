#include "scheduler/members/host_pairs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace fgnn {
namespace {

TEST(HostPairsTest, HasTheNewestMeasurementOfEachDirection) {
  HostPairs pairs;
  const HostPair there = {
      .from = "head", .to = "host1", .error = {}, .link = {1e-3, 2e6, 0.5}};
  const HostPair back = {.from = "host1", .to = "head", .error = "refused"};
  pairs.Note(back);
  pairs.Note({.from = "head", .to = "host1", .error = "refused"});
  pairs.Note(there);
  EXPECT_THAT(pairs.All(), testing::ElementsAre(there, back));
}

}  // namespace
}  // namespace fgnn
