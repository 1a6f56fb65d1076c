#include "tools/fgnn/service/job_request.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "tests/fakes/status_matchers.h"

namespace fgnn {
namespace {

using testing::AllOf;
using testing::HasSubstr;

class JobRequestTest : public testing::Test {
 protected:
  void SetUp() override {
    flags_.job_file =
        testing::TempDir() +
        testing::UnitTest::GetInstance()->current_test_info()->name() + ".yaml";
  }
  void TearDown() override { std::filesystem::remove(flags_.job_file); }
  void WriteJob(const std::string& yaml) {
    std::ofstream(flags_.job_file) << yaml;
  }
  JobRequestFlags flags_;
};

TEST_F(JobRequestTest, SendsWhatWasWrittenAndOverridden) {
  WriteJob("dataset: graph\ntraining: {epochs: 3}\n");
  flags_.overrides = {"training.seed=9"};
  flags_.run_dir = "here/./results";
  flags_.options.digest = true;
  FGNN_ASSERT_OK_AND_ASSIGN(const auto request, MakeJobRequest(flags_));
  EXPECT_EQ(request.spec().training().epochs(), 3U);
  EXPECT_EQ(request.spec().training().seed(), 9U);
  EXPECT_FALSE(request.spec().training().has_learning_rate())
      << "defaults are the service's";
  EXPECT_EQ(request.run_dir(),
            (std::filesystem::current_path() / "here/results").string());
  EXPECT_TRUE(request.digest());
}

TEST_F(JobRequestTest, EachRequestHasAKeyOfItsOwn) {
  WriteJob("dataset: graph\n");
  FGNN_ASSERT_OK_AND_ASSIGN(const auto first, MakeJobRequest(flags_));
  FGNN_ASSERT_OK_AND_ASSIGN(const auto second, MakeJobRequest(flags_));
  EXPECT_EQ(first.client_key().size(), 32U);
  EXPECT_NE(first.client_key(), second.client_key());
}

TEST_F(JobRequestTest, RulesThatSpanFieldsNeedNoService) {
  WriteJob("dataset: graph\nmodel: {layers: 3}\nsampling: {fanouts: [5, 5]}\n");
  EXPECT_THAT(MakeJobRequest(flags_),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       AllOf(HasSubstr("layers"), HasSubstr("fanouts"))));
}

TEST_F(JobRequestTest, SendsWhatTheQueueIsToKnow) {
  WriteJob("dataset: graph\n");
  flags_.options.name = "a name";
  flags_.options.priority = -3;
  flags_.after = {"one", "two"};
  flags_.options.retries = 2;
  flags_.time_limit = "30m";
  FGNN_ASSERT_OK_AND_ASSIGN(const auto request, MakeJobRequest(flags_));
  EXPECT_EQ(request.name(), "a name");
  EXPECT_EQ(request.priority(), -3);
  EXPECT_THAT(request.after(), testing::ElementsAre("one", "two"));
  EXPECT_EQ(request.retries(), 2U);
  EXPECT_EQ(request.time_limit_seconds(), 1800U);
}

TEST(ParseTimeLimitTest, TakesSecondsAndUnits) {
  EXPECT_EQ(ParseTimeLimit("90").value(), 90U);
  EXPECT_EQ(ParseTimeLimit("90s").value(), 90U);
  EXPECT_EQ(ParseTimeLimit("2h").value(), 7200U);
  EXPECT_EQ(ParseTimeLimit("1d").value(), 86400U);
  for (const char* text : {"", "0", "h", "-1", "+1", "1w", "50000d"}) {
    EXPECT_THAT(
        ParseTimeLimit(text),
        StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("--time-limit")))
        << text;
  }
}

}  // namespace
}  // namespace fgnn
