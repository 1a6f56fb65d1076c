#include "tools/bench/extract_bench.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <set>
#include <utility>
#include <vector>

#include "tests/fakes/status_matchers.h"
#include "tests/unit/tools/bench/watched_store.h"
#include "tools/bench/files/generated_features.h"

namespace fgnn {
namespace {

using testing::HasSubstr;

class ExtractBenchTest : public testing::Test {
 protected:
  static constexpr uint64_t kRows = 500;
  static constexpr uint64_t kColumns = 3;

  ExtractBenchTest() {
    options_.batch_rows = 100;
    options_.batches = 3;
    options_.rounds = 2;
  }

  WatchedStore store_{kRows, kColumns};
  ExtractBenchOptions options_;
};

TEST_F(ExtractBenchTest, ExtractsBatchesOfDifferentRows) {
  FGNN_ASSERT_OK_AND_ASSIGN(const ExtractBenchResult result,
                            RunExtractBench(store_, options_));
  EXPECT_EQ(result.rows, 300U);
  EXPECT_EQ(result.bytes, 300 * kColumns * 4);
  EXPECT_EQ(result.hit_rate, 0);
  EXPECT_GT(result.seconds, 0);
  EXPECT_TRUE(result.copy_seconds.has_value());
  EXPECT_FALSE(result.uncached_seconds.has_value());
  ASSERT_EQ(store_.calls.size(), 12U);  // Half of them timed.
  std::set<std::vector<GlobalId>> batches;
  for (const std::vector<GlobalId>& call : store_.calls) {
    EXPECT_EQ(std::set<GlobalId>(call.begin(), call.end()).size(), 100U);
    batches.insert(call);
  }
  EXPECT_EQ(batches.size(), 12U);
}

TEST_F(ExtractBenchTest, HasTheHitRateThatItIsAskedFor) {
  options_.threads = 2;
  for (const auto& [capacity, hit_rate] :
       std::vector<std::pair<uint64_t, double>>{
           {100, 0}, {200, 0.25}, {100, 0.8}, {100, 1}, {kRows, 1}}) {
    SCOPED_TRACE(testing::Message() << capacity << ", " << hit_rate);
    options_.capacity = capacity;
    options_.hit_rate = hit_rate;
    FGNN_ASSERT_OK_AND_ASSIGN(const ExtractBenchResult result,
                              RunExtractBench(store_, options_));
    EXPECT_EQ(result.hit_rate, hit_rate);
    EXPECT_TRUE(result.uncached_seconds.has_value());
  }
}

TEST_F(ExtractBenchTest, DrawsAllRowsAlikeWithoutAHitRate) {
  options_.capacity = 250;
  options_.batches = 20;
  FGNN_ASSERT_OK_AND_ASSIGN(const ExtractBenchResult result,
                            RunExtractBench(store_, options_));
  // 8,000 of a share of one half: eight times the standard deviation.
  EXPECT_NEAR(result.hit_rate, 0.5, 0.048);
}

TEST_F(ExtractBenchTest, NoticesWrongRows) {
  store_.is_wrong = true;
  EXPECT_THAT(RunExtractBench(store_, options_),
              StatusIs(absl::StatusCode::kInternal, HasSubstr("differ")));
}

TEST_F(ExtractBenchTest, HasNoPlainCopyOfRowsThatAreNotInMemory) {
  store_.in_memory = false;
  FGNN_ASSERT_OK_AND_ASSIGN(const ExtractBenchResult result,
                            RunExtractBench(store_, options_));
  EXPECT_FALSE(result.copy_seconds.has_value());
}

TEST_F(ExtractBenchTest, CountsTheReadsOfTheTimedBatches) {
  FGNN_ASSERT_OK_AND_ASSIGN(ExtractBenchResult result,
                            RunExtractBench(store_, options_));
  EXPECT_FALSE(result.reads.has_value());
  options_.num_reads = [this] { return 5 * store_.calls.size(); };
  FGNN_ASSERT_OK_AND_ASSIGN(result, RunExtractBench(store_, options_));
  EXPECT_EQ(result.reads, 15U);
}

TEST_F(ExtractBenchTest, RefusesWhatTheRowsDoNotAllow) {
  ExtractBenchOptions options = options_;
  options.batch_rows = kRows + 1;
  EXPECT_THAT(RunExtractBench(store_, options),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("--batch-rows 501")));
  options = options_;
  options.capacity = kRows + 1;
  EXPECT_THAT(RunExtractBench(store_, options),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("--capacity 501")));
  options.capacity = 50;
  options.hit_rate = 0.6;
  EXPECT_THAT(RunExtractBench(store_, options),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("60 rows of a table of 50")));
  options.capacity = 450;
  options.hit_rate = 0.4;
  EXPECT_THAT(RunExtractBench(store_, options),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("60 of the other 50")));
}

TEST(GeneratedFeaturesTest, DependOnTheSeedAlone) {
  FGNN_ASSERT_OK_AND_ASSIGN(
      const GeneratedFeatures one,
      GenerateFeatures(FeatureType::kBfloat16, 70, 3, /*seed=*/1));
  FGNN_ASSERT_OK_AND_ASSIGN(
      const GeneratedFeatures same,
      GenerateFeatures(FeatureType::kBfloat16, 70, 3, /*seed=*/1));
  FGNN_ASSERT_OK_AND_ASSIGN(
      const GeneratedFeatures other,
      GenerateFeatures(FeatureType::kBfloat16, 70, 3, /*seed=*/2));
  EXPECT_EQ(one.view.row_bytes(), 6U);
  EXPECT_EQ(0, std::memcmp(one.view.data, same.view.data, 420));
  EXPECT_NE(0, std::memcmp(one.view.data, other.view.data, 420));
}

}  // namespace
}  // namespace fgnn
