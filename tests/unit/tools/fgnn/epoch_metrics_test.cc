#include "tools/fgnn/reports/epoch_metrics.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "tests/fakes/status_matchers.h"

namespace fgnn {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

class EpochMetricsReaderTest : public testing::Test {
 protected:
  void TearDown() override { std::filesystem::remove(file_); }
  void Append(const std::string& text) {
    std::ofstream(file_, std::ios::app) << text;
  }
  const std::filesystem::path file_ =
      std::filesystem::path(testing::TempDir()) /
      ("metrics_" +
       std::string(
           testing::UnitTest::GetInstance()->current_test_info()->name()));
};

TEST_F(EpochMetricsReaderTest, ReadsEachCompletedLineOnce) {
  EpochMetricsReader reader(file_);
  FGNN_ASSERT_OK_AND_ASSIGN(auto none, reader.ReadNew());
  EXPECT_THAT(none, IsEmpty()) << "the file is not there yet";

  Append("{\"epoch\": 1}\n{\"epoch\": 2, \"lo");
  FGNN_ASSERT_OK_AND_ASSIGN(auto first, reader.ReadNew());
  ASSERT_THAT(first, SizeIs(1));
  EXPECT_EQ(first[0]["epoch"], 1);

  Append("ss\": 2.5}\n");
  FGNN_ASSERT_OK_AND_ASSIGN(auto second, reader.ReadNew());
  ASSERT_THAT(second, SizeIs(1));
  EXPECT_EQ(second[0]["loss"], 2.5);
  FGNN_ASSERT_OK_AND_ASSIGN(auto nothing_new, reader.ReadNew());
  EXPECT_THAT(nothing_new, IsEmpty());
}

TEST_F(EpochMetricsReaderTest, NamesTheLineThatIsNoJson) {
  Append("{\"epoch\": 1}\nepoch 1\n");
  EpochMetricsReader reader(file_);
  EXPECT_THAT(reader.ReadNew(), StatusIs(absl::StatusCode::kDataLoss,
                                         HasSubstr(file_.string() + ":2")));
}

TEST_F(EpochMetricsReaderTest, AFileThatWentBackTellsOfEachEpochOnce) {
  EpochMetricsReader reader(file_);
  Append("{\"epoch\": 1}\n{\"epoch\": 2}\n{\"epoch\": 3}\n");
  FGNN_ASSERT_OK_AND_ASSIGN(auto first, reader.ReadNew());
  ASSERT_THAT(first, SizeIs(3));

  std::filesystem::resize_file(file_, 13);  // The first line stays.
  FGNN_ASSERT_OK_AND_ASSIGN(auto cut, reader.ReadNew());
  EXPECT_THAT(cut, IsEmpty());
  Append("{\"epoch\": 2, \"again\": 1}\n");
  FGNN_ASSERT_OK_AND_ASSIGN(auto again, reader.ReadNew());
  EXPECT_THAT(again, IsEmpty());
  // It goes back again, and beyond its earlier end before it is looked at.
  std::filesystem::resize_file(file_, 13);
  Append("{\"epoch\": 2, \"seconds\": 2.5, \"loss\": 0.25}\n");
  Append("{\"epoch\": 3}\n{\"epoch\": 4}\n{\"epoch\": 5}\n");
  FGNN_ASSERT_OK_AND_ASSIGN(auto rest, reader.ReadNew());
  ASSERT_THAT(rest, SizeIs(2));
  EXPECT_EQ(rest[0]["epoch"], 4);
  EXPECT_EQ(rest[1]["epoch"], 5);
}

// The run's folder is its user's: the open of a FIFO would wait for ever.
TEST_F(EpochMetricsReaderTest, NoFileButAPlainOneIsRead) {
  ASSERT_EQ(::mkfifo(file_.c_str(), 0600), 0);
  EXPECT_THAT(
      EpochMetricsReader(file_).ReadNew(),
      StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr(file_.string())));
}

TEST(StageTableTest, SumsEpochsAndKeepsTheOrderOfStages) {
  const auto stages =
      SumStages({EpochMetrics::parse(R"({"stages":{"sample":1,"train":2}})"),
                 EpochMetrics::parse(R"({"epoch":1})"),
                 EpochMetrics::parse(R"({"stages":{"train":4,"sync":1}})")});
  ASSERT_THAT(stages, SizeIs(3));
  EXPECT_EQ(stages[0].stage, "sample");
  EXPECT_EQ(stages[1].stage, "train");
  EXPECT_DOUBLE_EQ(stages[1].seconds, 6);
  EXPECT_DOUBLE_EQ(stages[1].share, 0.75);
  EXPECT_EQ(StageTableText(stages),
            "stage   seconds   share\n"
            "sample    1.000  12.5 %\n"
            "train     6.000  75.0 %\n"
            "sync      1.000  12.5 %\n");
}

TEST(StageTableTest, EvaluationComesLast) {
  const auto stages = SumStages(
      {EpochMetrics::parse(R"({"stages":{"train":1},"evaluate_seconds":2})"),
       EpochMetrics::parse(R"({"stages":{"sync":1},"evaluate_seconds":4})")});
  EXPECT_EQ(StageTableText(stages),
            "stage     seconds   share\n"
            "train       1.000  12.5 %\n"
            "sync        1.000  12.5 %\n"
            "evaluate    6.000  75.0 %\n");
}

TEST(StageTableTest, OnlyBatchesOfPartsWaitForParts) {
  const auto stages =
      SumStages({EpochMetrics::parse(R"({"stages":{"train":1,"shuffle":0}})")});
  EXPECT_EQ(StageTableText(stages),
            "stage  seconds    share\n"
            "train    1.000  100.0 %\n");
  EXPECT_THAT(StageTableText(SumStages({EpochMetrics::parse(
                  R"({"stages":{"train":1,"shuffle":1}})")})),
              HasSubstr("shuffle"));
}

TEST(StageTableTest, IsEmptyWithoutStages) {
  EXPECT_EQ(StageTableText(SumStages({})), "");
}

}  // namespace
}  // namespace fgnn
