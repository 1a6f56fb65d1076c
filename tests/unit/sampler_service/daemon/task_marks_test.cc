#include "sampler_service/daemon/task_marks.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

#include "tests/fakes/status_matchers.h"
#include "tests/unit/sampler_service/daemon/small_job.h"

namespace fgnn {
namespace {

using testing::ElementsAreArray;
using testing::IsEmpty;

class TaskMarksTest : public testing::Test {
 protected:
  // Saves the order that begins with vertex `first`, and opens it.
  RankOrder Save(uint64_t key, uint32_t first) const {
    std::vector<GlobalId> vertices(dataset_.num_nodes());
    for (uint32_t i = 0; i < vertices.size(); ++i) {
      vertices[i] = static_cast<GlobalId>((first + i) % vertices.size());
    }
    EXPECT_THAT(RankOrder::Save(dataset_, key, vertices), IsOk());
    return RankOrder::Open(dataset_, key).value();
  }

  const SmallJob job_;
  const Dataset dataset_ =
      Dataset::Open(job_.dataset(), Validation::kShapes).value();
  TaskMarks marks_{&dataset_};
};

TEST_F(TaskMarksTest, KeepsTheOrderThatWasAskedForFirst) {
  const RankOrder first = Save(5, 700);
  Save(6, 300);
  for (const uint64_t key : {5, 6, 5}) {
    const HotRanks ranks = marks_.RanksOf(key);
    EXPECT_THAT(ranks.ranks, ElementsAreArray(first.ranks()));
    EXPECT_EQ(ranks.rank_order_version, first.version());
  }
}

TEST_F(TaskMarksTest, HasNoRanksOfAnOrderThatWasLost) {
  EXPECT_THAT(marks_.RanksOf(5).ranks, IsEmpty());
  Save(5, 700);
  const HotRanks ranks = marks_.RanksOf(5);
  EXPECT_THAT(ranks.ranks, IsEmpty());
  EXPECT_EQ(ranks.rank_order_version, 0U);
}

}  // namespace
}  // namespace fgnn
