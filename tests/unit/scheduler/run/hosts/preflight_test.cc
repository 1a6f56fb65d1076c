#include "scheduler/run/hosts/preflight.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <string>

#include "tests/fakes/status_matchers.h"

namespace fgnn {
namespace {

JobHosts ThreeHosts() {
  return {.all = {{.name = "head", .exchange = "a:1", .num_places = 2},
                  {.name = "host1", .exchange = "b:1", .num_places = 1},
                  {.name = "host2", .exchange = "c:1", .num_places = 0}}};
}

class PreflightTest : public testing::Test {
 protected:
  void HasArithmetic(const std::string& host, const std::string& kind,
                     uint32_t gradient_crc, uint32_t step_crc) {
    preflight_.Take(host,
                    {.arithmetic = {.kind = kind,
                                    .gradient_crc = gradient_crc,
                                    .step_crc = step_crc}},
                    now_);
  }
  void HasRows(const std::string& host, const HostRows& rows) {
    HostFindings findings;
    findings.rows = rows;
    preflight_.Take(host, findings, now_);
  }
  // The host calls the two others, and gets these errors.
  void Reaches(const std::string& host, const HostReach& one,
               const HostReach& another) {
    preflight_.Take(host, {.arithmetic = {}, .reaches = {one, another}}, now_);
  }
  void Pass(int seconds) { now_ += std::chrono::seconds(seconds); }
  absl::Status Check() { return preflight_.Check(now_, &misfit_); }

  Deadline now_ = MonotonicClock::now();
  Preflight preflight_{ThreeHosts()};
  std::string misfit_;  // Host that could be left out, by the last Check().
};

TEST_F(PreflightTest, HostsThatHaveNotMeasuredAreFine) {
  EXPECT_THAT(Check(), IsOk());
  HasArithmetic("head", "cores", 1, 2);
  preflight_.Take("host1", {}, now_);
  HasArithmetic("host2", "cores", 1, 2);
  EXPECT_THAT(Check(), IsOk());
}

TEST_F(PreflightTest, OtherGradientsOfHostsThatTrainAreRefused) {
  HasArithmetic("head", "cores", 1, 2);
  HasArithmetic("host1", "cores", 0xabcdef, 2);
  EXPECT_THAT(Check(), FailedPrecondition("head has cores, 0x00000001",
                                          "host1 has cores, 0x00abcdef",
                                          "no places by hosts.shares"));
  EXPECT_EQ(misfit_, "host1");
}

TEST_F(PreflightTest, AnotherKindIsRefusedEvenWithTheSameGradient) {
  HasArithmetic("host1", "NVIDIA H200", 1, 2);
  HasArithmetic("head", "cores", 1, 2);
  EXPECT_THAT(Check(),
              FailedPrecondition("head has cores", "host1 has NVIDIA H200"));
}

TEST_F(PreflightTest, AHostWithoutPlacesHasToMakeTheSameStepsAlone) {
  HasArithmetic("head", "cores", 1, 2);
  HasArithmetic("host2", "NVIDIA H200", 7, 2);
  EXPECT_THAT(Check(), IsOk());
  HasArithmetic("host2", "cores", 1, 3);
  EXPECT_THAT(Check(),
              FailedPrecondition("head has cores, 0x00000002",
                                 "host2 has cores, 0x00000003",
                                 "leave the devices of one of them out"));
  EXPECT_EQ(misfit_, "host2");
}

TEST_F(PreflightTest, AHostThatIsNotReachedHasTenSecondsOnceBothRun) {
  Reaches("head", {.host = 1, .error = "refused"}, {.host = 2});
  Pass(60);
  // The exchange of host1 may not run yet.
  EXPECT_EQ(preflight_.Unreached(), "");
  EXPECT_THAT(Check(), IsOk());
  Reaches("host1", {.host = 0}, {.host = 2});
  EXPECT_EQ(preflight_.Unreached(),
            "host head cannot reach host host1 at b:1: refused");
  Pass(9);
  EXPECT_THAT(Check(), IsOk());
  Pass(2);
  EXPECT_THAT(Check(),
              FailedPrecondition("host head cannot reach host host1 at b:1",
                                 "refused; open this port"));
  EXPECT_EQ(misfit_, "host1");
  Reaches("head", {.host = 1}, {.host = 2});
  EXPECT_THAT(Check(), IsOk());
  EXPECT_EQ(preflight_.Unreached(), "");
}

TEST_F(PreflightTest, AWrongCertificateIsNoClosedPort) {
  Reaches("host1", {.host = 0}, {.host = 2, .error = "Ssl handshake failed"});
  Reaches("host2", {.host = 0}, {.host = 1});
  Pass(11);
  EXPECT_THAT(Check(), FailedPrecondition("host1 cannot reach host host2",
                                          "'fgnn-certificates host'"));
  EXPECT_EQ(misfit_, "host2");
}

// The head is never left out.
TEST_F(PreflightTest, OfAMemberAndTheHeadTheMemberIsTheMisfit) {
  Reaches("host1", {.host = 0, .error = "refused"}, {.host = 2});
  Reaches("head", {.host = 1}, {.host = 2});
  Pass(11);
  EXPECT_THAT(Check(), FailedPrecondition("host1 cannot reach host head"));
  EXPECT_EQ(misfit_, "host1");
}

TEST_F(PreflightTest, AHostReachesAllOnceItHasCalledEach) {
  HostFindings findings;
  EXPECT_FALSE(ReachesAll(findings, 3));
  findings.reaches = {{.host = 1}};
  EXPECT_FALSE(ReachesAll(findings, 3));
  findings.reaches = {{.host = 1}, {.host = 2, .error = "refused"}};
  EXPECT_FALSE(ReachesAll(findings, 3));
  findings.reaches[1].error.clear();
  EXPECT_TRUE(ReachesAll(findings, 3));
}

TEST_F(PreflightTest, FoldersOfOtherBooksOrForOtherNumbersOfOwnersAreRefused) {
  HasRows("head", {.book = 0xabc, .owners = 2, .owner = 0});
  HasRows("host1", {});
  HasRows("host2", {.book = 0xabc, .owners = 2, .owner = 1});
  EXPECT_THAT(Check(), IsOk());
  HasRows("host2", {.book = 0xdef, .owners = 2, .owner = 1});
  EXPECT_THAT(
      Check(),
      FailedPrecondition(
          "host head has the rows of owner 0 of 2, book 0000000000000abc",
          "host host2 has the rows of owner 1 of 2, book 0000000000000def",
          "'fgnn dataset partition DIR --hosts 2 --out DIR2'"));
  EXPECT_EQ(misfit_, "host2");
  HasRows("host2", {.book = 0xabc, .owners = 4, .owner = 1});
  EXPECT_THAT(Check(), FailedPrecondition("of 2, book", "of 4, book"));
}

TEST_F(PreflightTest, RowsThatNoHostHasAreNamedByTheirOwner) {
  HasRows("head", {.book = 1, .owners = 3, .owner = 2});
  HasRows("host1", {.book = 1, .owners = 3, .owner = 0});
  EXPECT_EQ(preflight_.Lacks(), "") << "host2 has not told yet";
  HasRows("host2", {.book = 1, .owners = 3, .owner = 2});
  EXPECT_EQ(preflight_.Lacks(),
            "no host of the job has the rows of owner 1 of 3, book "
            "0000000000000001");
  HasRows("host2", {.book = 1, .owners = 3, .owner = 1});
  EXPECT_EQ(preflight_.Lacks(), "");
  EXPECT_EQ(preflight_.Lacks("host1"),
            "no host of the job but host1 has the rows of owner 0 of 3, book "
            "0000000000000001");
  HasRows("host2", {});
  EXPECT_EQ(preflight_.Lacks(), "") << "host2 has the whole folder";
  EXPECT_EQ(preflight_.Lacks("host1"), "");
}

// An index that is none is another program's.
TEST_F(PreflightTest, AHostThatIsNoneIsLeftOut) {
  Reaches("head", {.host = 7, .error = "refused"}, {.host = 2});
  Reaches("host1", {.host = 0}, {.host = 2});
  Pass(60);
  EXPECT_THAT(Check(), IsOk());
}

}  // namespace
}  // namespace fgnn
