#include "scheduler/figures/run_state.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "tests/fakes/status_matchers.h"

namespace fgnn {
namespace {

RunState SomeState() {
  RunState state;
  state.batches_per_epoch = 125;
  state.next_seq = BatchSeq(318);
  state.batch_dependency = 8;
  state.matched_window = 16;
  BatchRecord record;
  record.num_seeds = 256;
  record.num_edges = (uint64_t{1} << 53) + 1;  // No double holds it.
  record.num_input_nodes = 1000;
  record.num_cache_hits = 10;
  record.loss = 0.1F;
  record.staleness = 3;
  record.sample = 1.0F / 3;
  record.sync = 1e-7F;
  state.sum.Add(record);
  state.sum.Add(record);
  state.valid_score = 0.1 + 0.2;
  state.best_epoch = 1;
  state.metrics_bytes = 944;
  state.digests_bytes = uint64_t{1} << 60;
  return state;
}

TEST(RunStateTest, ReadsBackToTheBit) {
  const RunState state = SomeState();
  FGNN_ASSERT_OK_AND_ASSIGN(const RunState again,
                            RunStateFromJson(RunStateToJson(state)));
  EXPECT_EQ(again.batches_per_epoch, state.batches_per_epoch);
  EXPECT_EQ(again.next_seq, state.next_seq);
  EXPECT_EQ(again.batch_dependency, 8U);
  EXPECT_EQ(again.matched_window, 16U);
  EXPECT_EQ(again.valid_score, state.valid_score);
  EXPECT_EQ(again.best_valid_score, std::nullopt);
  EXPECT_EQ(again.best_epoch, 1U);
  EXPECT_EQ(again.metrics_bytes, state.metrics_bytes);
  EXPECT_EQ(again.digests_bytes, state.digests_bytes);
  EXPECT_EQ(again.sum.edges(), state.sum.edges());
  EXPECT_EQ(MetricsLine({}, again.sum), MetricsLine({}, state.sum));
}

TEST(RunStateTest, HasSharesOfSeedsWhereSeedsAreAHostsOwn) {
  RunState state = SomeState();
  EXPECT_EQ(RunStateToJson(state).find("seed_shares"), std::string::npos);
  state.seeds = MakeSeedShares(7, {{.num_places = 1}, {.num_places = 2}});
  std::string text = RunStateToJson(state);
  FGNN_ASSERT_OK_AND_ASSIGN(const RunState again, RunStateFromJson(text));
  EXPECT_EQ(again.seeds, state.seeds);
  text.replace(text.find(" 1,2 "), 5, " 1,x ");
  EXPECT_THAT(RunStateFromJson(text), StatusIs(absl::StatusCode::kDataLoss));
}

TEST(RunStateTest, HasPartsAndTheirBookWhereBatchesAreSplit) {
  RunState state = SomeState();
  EXPECT_EQ(RunStateToJson(state).find("book"), std::string::npos);
  state.parts = 4;
  state.book = 0xfeed'0000'0000'0007;
  FGNN_ASSERT_OK_AND_ASSIGN(const RunState again,
                            RunStateFromJson(RunStateToJson(state)));
  EXPECT_EQ(again.parts, 4U);
  EXPECT_EQ(again.book, state.book);
}

TEST(RunStateTest, AnyPartOfItIsDamage) {
  const std::string text = RunStateToJson(SomeState());
  for (size_t length = 0; length < text.size(); ++length) {
    EXPECT_THAT(RunStateFromJson(text.substr(0, length)),
                StatusIs(absl::StatusCode::kDataLoss))
        << length;
  }
}

TEST(RunStateTest, ASumThatLacksAFieldIsDamage) {
  std::string text = RunStateToJson(SomeState());
  const size_t at = text.find("cache_hits");
  ASSERT_NE(at, std::string::npos);
  text.replace(at, 10, "cache_hots");
  EXPECT_THAT(RunStateFromJson(text), StatusIs(absl::StatusCode::kDataLoss));
}

TEST(RunStateTest, AFieldOfAnotherKindIsDamage) {
  for (const char* text :
       {"[]", "null", R"({"next_seq": "1"})", R"({"next_seq": -1})"}) {
    EXPECT_THAT(RunStateFromJson(text), StatusIs(absl::StatusCode::kDataLoss))
        << text;
  }
}

}  // namespace
}  // namespace fgnn
