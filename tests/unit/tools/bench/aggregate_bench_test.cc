#include "tools/bench/aggregate_bench.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/fakes/status_matchers.h"
#include "tests/unit/tools/bench/watched_store.h"

namespace fgnn {
namespace {

using testing::HasSubstr;

class AggregateBenchTest : public testing::Test {
 protected:
  AggregateBenchTest() {
    options_.rows.batch_rows = 101;
    options_.rows.batches = 3;
    options_.rows.rounds = 2;
    options_.rows.threads = 2;
  }

  static constexpr uint64_t kRows = 500;

  WatchedStore store_{kRows, /*columns=*/3};
  AggregateBenchOptions options_;
};

TEST_F(AggregateBenchTest, CountsWhatARoundReadsAndWrites) {
  options_.rows.capacity = 200;
  options_.rows.hit_rate = 1;
  options_.edges_per_row = 4;
  FGNN_ASSERT_OK_AND_ASSIGN(const AggregateBenchResult result,
                            RunAggregateBench(store_, options_));
  EXPECT_EQ(result.rows, 303U);
  EXPECT_EQ(result.destinations, 153U);
  EXPECT_EQ(result.edges, 3 * 404U);
  EXPECT_EQ(result.hit_rate, 1);
  EXPECT_GT(result.extract_first.seconds, 0);
  EXPECT_GT(result.in_place.seconds, 0);
  // Rows of 12 bytes in the store and as f32, pointers of 8.
  EXPECT_EQ(result.extract_first.bytes, 303 * 24 + 1212 * 12 + 153 * 12U);
  EXPECT_EQ(result.in_place.bytes,
            303 * 8 + 1212 * (12 + 8) + 153 * 24 + 153 * 12U);
}

TEST_F(AggregateBenchTest, ReachesEverySourceByAnEdgeWhenEdgesAreFew) {
  // As many edges as there are sources to find: a copy that is wrong in the
  // last row shows in a mean.
  options_.edges_per_row = 50.0 / 101;
  options_.rows.threads = 1;
  FGNN_ASSERT_OK(RunAggregateBench(store_, options_).status());
  store_.is_wrong = true;
  EXPECT_THAT(RunAggregateBench(store_, options_),
              StatusIs(absl::StatusCode::kInternal, HasSubstr("differ")));
}

TEST_F(AggregateBenchTest, RefusesBlocksThatCannotBe) {
  options_.edges_per_row = 49.0 / 101;
  EXPECT_THAT(RunAggregateBench(store_, options_),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("50 edges or more")));
  options_.edges_per_row = 0x1.0p32;
  EXPECT_THAT(RunAggregateBench(store_, options_),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("--edges-per-row")));
  options_.edges_per_row = 2;
  options_.rows.batch_rows = kRows + 1;
  EXPECT_THAT(RunAggregateBench(store_, options_),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("--batch-rows 501")));
}

TEST_F(AggregateBenchTest, RefusesAStoreThatIsNotInMemory) {
  store_.in_memory = false;
  EXPECT_THAT(
      RunAggregateBench(store_, options_),
      StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("--store disk")));
}

}  // namespace
}  // namespace fgnn
