#include "scheduler/figures/epoch_sum.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "nlohmann/json.hpp"
#include "scheduler/figures/rate_meter.h"
#include "scheduler/store/job.h"
#include "tests/fakes/status_matchers.h"

namespace fgnn {
namespace {

BatchRecord SomeRecord(uint64_t seq, uint32_t seeds, float loss) {
  BatchRecord record;
  record.seq_plus_one = seq + 1;
  record.digest = 0xbeef;
  record.num_seeds = seeds;
  record.num_edges = 100;
  record.num_input_nodes = 50;
  record.num_cache_hits = 10;
  record.num_matched = 8;
  record.num_remote = 7;
  record.message_bytes = 24;
  record.loss = loss;
  record.order = 0.125F;
  record.sample = 0.5F;
  record.sync = 0.25F;
  record.split = 0.0625F;
  record.shuffle = 0.03125F;
  return record;
}

TEST(EpochSumTest, TheLossIsTheMeanOverSeedsNotOverBatches) {
  EpochSum sum;
  EXPECT_EQ(sum.loss(), 0);
  sum.Add(SomeRecord(0, 3, 1.0F));
  sum.Add(SomeRecord(1, 1, 5.0F));
  EXPECT_DOUBLE_EQ(sum.loss(), 2.0);
  EXPECT_DOUBLE_EQ(sum.cache_hit_rate(), 0.2);
  EXPECT_EQ(sum.edges(), 200U);
}

TEST(EpochSumTest, EveryInputNodeIsCachedMatchedOrLoaded) {
  EpochSum sum;
  EXPECT_EQ(sum.match_rate(), 0);
  EXPECT_EQ(sum.rows_loaded(), 0U);
  sum.Add(SomeRecord(0, 3, 1.0F));
  sum.Add(SomeRecord(1, 1, 5.0F));
  // Of those that were not cached.
  EXPECT_DOUBLE_EQ(sum.match_rate(), 0.2);
  EXPECT_EQ(sum.cache_hits() + sum.matched() + sum.rows_loaded(),
            sum.input_nodes());
  EXPECT_EQ(sum.rows_loaded(), 64U);
  EXPECT_EQ(sum.rows_remote(), 14U);
}

TEST(EpochSumTest, ASumIsReadBackAndANumberOfAnotherKindIsDamage) {
  EpochSum sum;
  sum.Add(SomeRecord(0, 3, 1.0F));
  FGNN_ASSERT_OK_AND_ASSIGN(const EpochSum again,
                            EpochSum::FromJson(sum.ToJson()));
  EXPECT_EQ(again.matched(), 8U);
  EXPECT_EQ(again.rows_remote(), 7U);
  EXPECT_EQ(again.message_bytes(), 24U);
  EXPECT_EQ(again.stages().order, 0.125);
  EXPECT_EQ(again.stages().split, 0.0625);
  EXPECT_EQ(again.stages().shuffle, 0.03125);
  auto json = nlohmann::json::parse(sum.ToJson());
  // As release 0.1.0 wrote it.
  for (const char* name : {"remote", "message_bytes", "split", "shuffle"}) {
    json.erase(name);
  }
  FGNN_ASSERT_OK_AND_ASSIGN(const EpochSum old,
                            EpochSum::FromJson(json.dump()));
  EXPECT_EQ(old.rows_remote(), 0U);
  EXPECT_EQ(old.message_bytes(), 0U);
  EXPECT_EQ(old.stages().split, 0);
  json["matched"] = "8";
  EXPECT_THAT(EpochSum::FromJson(json.dump()),
              StatusIs(absl::StatusCode::kDataLoss));
}

TEST(EpochSumTest, AMetricsLineOfLinkPredictionHasRanksInsteadOfAccuracy) {
  const auto json = nlohmann::json::parse(
      MetricsLine({.epoch = 1,
                   .objective = Objective::kLinks,
                   .valid = {.roc_auc = 0.75, .mrr = 0.5, .mean_rank = 3}},
                  EpochSum()));
  EXPECT_EQ(json["valid_mrr"], 0.5);
  EXPECT_EQ(json["valid_mean_rank"], 3);
  EXPECT_EQ(json["valid_roc_auc"], 0.75);
  EXPECT_FALSE(json.contains("valid_accuracy"));
  EXPECT_FALSE(json.contains("valid_macro_f1"));
}

TEST(EpochSumTest, AMetricsLineOfTargetsHasTheirScoresInsteadOfAccuracy) {
  const auto values = nlohmann::json::parse(
      MetricsLine({.objective = Objective::kValues,
                   .valid = {.rmse = 0.75, .mae = 0.5, .r2 = -0.25}},
                  EpochSum()));
  EXPECT_EQ(values["valid_rmse"], 0.75);
  EXPECT_EQ(values["valid_mae"], 0.5);
  EXPECT_EQ(values["valid_r2"], -0.25);
  const auto sets = nlohmann::json::parse(MetricsLine(
      {.objective = Objective::kLabelSets, .valid = {.micro_f1 = 0.5}},
      EpochSum()));
  EXPECT_EQ(sets["valid_micro_f1"], 0.5);
  EXPECT_TRUE(sets["valid_macro_f1"].is_null());
  for (const auto& json : {values, sets}) {
    EXPECT_FALSE(json.contains("valid_accuracy"));
    EXPECT_FALSE(json.contains("valid_roc_auc"));
  }
}

TEST(EpochSumTest, AMetricsLineHasTheFieldsOfTheDesign) {
  EpochSum sum;
  sum.Add(SomeRecord(0, 4, 1.5F));
  const std::string line = MetricsLine(
      {.epoch = 2, .seconds = 3.5, .samplers = 1, .trainers = 2}, sum);
  EXPECT_EQ(line.back(), '\n');
  EXPECT_EQ(line.find('\n'), line.size() - 1);
  const auto json = nlohmann::json::parse(line);
  for (const char* key :
       {"epoch", "loss", "valid_accuracy", "valid_macro_f1", "valid_roc_auc",
        "seconds", "batches", "edges", "input_nodes", "cache_hit_rate",
        "match_rate", "rows_loaded", "rows_remote", "message_bytes", "samplers",
        "trainers", "switches"}) {
    EXPECT_TRUE(json.contains(key)) << key;
  }
  for (const char* stage :
       {"order", "sample", "id_map", "mark", "copy", "split", "wait", "extract",
        "train", "sync", "shuffle"}) {
    EXPECT_TRUE(json["stages"].contains(stage)) << stage;
  }
  EXPECT_EQ(json["epoch"], 2);
  EXPECT_TRUE(json["valid_accuracy"].is_null());
  EXPECT_TRUE(json["valid_roc_auc"].is_null());
  EXPECT_EQ(json["stages"]["order"], 0.125);
  EXPECT_EQ(json["stages"]["sample"], 0.5);
}

TEST(EpochSumTest, AMetricsLineOfDevicesThatTakeTurnsHasThemAll) {
  EpochFacts facts;
  facts.devices = {{.device = "cpu:0",
                    .plan = "sampler",
                    .times = {.sample = 0.0015, .train = 0, .standby = 0.008},
                    .sample_deviation_ms = 0.25,
                    .train_deviation_ms = 0,
                    .wake_ms = 0.5,
                    .sampled = 20,
                    .trained = 3}};
  const auto json = nlohmann::json::parse(MetricsLine(facts, EpochSum()));
  ASSERT_EQ(json["devices"].size(), 1U);
  const nlohmann::json& device = json["devices"][0];
  EXPECT_EQ(device["device"], "cpu:0");
  EXPECT_EQ(device["plan"], "sampler");
  EXPECT_EQ(device["sample_ms"], 1.5);
  EXPECT_EQ(device["sample_deviation_ms"], 0.25);
  EXPECT_EQ(device["standby_ms"], 8);
  EXPECT_EQ(device["wake_ms"], 0.5);
  EXPECT_EQ(device["sampled"], 20);
  EXPECT_EQ(device["trained"], 3);
}

TEST(EpochSumTest, SaysHowOldTheWeightsOfBatchesWere) {
  EpochSum sum;
  EXPECT_EQ(sum.staleness_mean(), 0);
  for (const uint32_t staleness : {0U, 3U, 1U, 0U}) {
    BatchRecord record = SomeRecord(0, 3, 1.0F);
    record.staleness = staleness;
    sum.Add(record);
  }
  const auto json = nlohmann::json::parse(MetricsLine({}, sum));
  EXPECT_EQ(json["staleness_max"], 3);
  EXPECT_EQ(json["staleness_mean"], 1.0);
}

TEST(EpochSumTest, ADigestLineNamesTheBatchAndItsCrc) {
  EXPECT_EQ(DigestLine(SomeRecord(12, 1, 0)), "12 0000beef\n");
}

TEST(EpochSumTest, KnowsTheLengthOfDigestLines) {
  uint64_t bytes = 0;
  for (uint64_t seq = 0; seq < 1200; ++seq) {
    ASSERT_EQ(DigestBytes(seq), bytes) << seq;
    bytes += DigestLine(SomeRecord(seq, 1, 0)).size();
  }
  EXPECT_EQ(DigestBytes(10'001) - DigestBytes(10'000), 15U);
}

TEST(RateMeterTest, ForgetsWhatIsOlderThanASecond) {
  using std::chrono::milliseconds;
  const Deadline start = MonotonicClock::now();
  RateMeter meter;
  EXPECT_EQ(meter.PerSecond(), 0);
  for (int i = 0; i <= 20; ++i) {
    meter.Add(100, start + milliseconds(100) * i);  // 1000 a second.
  }
  EXPECT_NEAR(meter.PerSecond(), 1000, 1);
  for (int i = 21; i <= 60; ++i) {
    meter.Add(200, start + milliseconds(100) * i);
  }
  EXPECT_NEAR(meter.PerSecond(), 2000, 1);
}

TEST(JobIdTest, SaysWhenTheJobWasSubmitted) {
  EXPECT_EQ(MakeJobId(1'795'256'100'123, 0x17f3a), "20261121-101500-7f3a");
}

}  // namespace
}  // namespace fgnn
