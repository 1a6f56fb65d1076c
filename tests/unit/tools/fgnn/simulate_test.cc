#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <vector>

#include "nlohmann/json.hpp"
#include "tools/fgnn/command_line.h"

namespace fgnn {
namespace {

using nlohmann::json;
using testing::AllOf;
using testing::HasSubstr;

struct SimulateAnswer {
  int exit_code;
  std::string out;
  std::string err;
};

SimulateAnswer Simulate(std::vector<std::string> args) {
  args.insert(args.begin(), "simulate");
  CommandContext context;
  const auto line = MakeCommandLine(context);
  testing::internal::CaptureStdout();
  testing::internal::CaptureStderr();
  const int exit_code = RunCommandLine(*line, context, args);
  std::string out = testing::internal::GetCapturedStdout();
  return {exit_code, out, testing::internal::GetCapturedStderr()};
}

json Report(std::vector<std::string> args) {
  args.push_back("--json");
  const SimulateAnswer answer = Simulate(args);
  EXPECT_EQ(answer.exit_code, 0) << answer.err;
  return json::parse(answer.out);
}

TEST(SimulateCommandTest, NamesTheBestPlanAndTheFormula) {
  const json report = Report({"--ts", "10ms", "--tt", "50ms", "--devices", "4",
                              "--no-switching", "--batches", "99"});
  EXPECT_EQ(report["formula_samplers"], 1);
  EXPECT_EQ(report["best_samplers"], 1);
  EXPECT_EQ(report["samplers"], 1);
  EXPECT_EQ(report["plans"].size(), 3U);  // One has to train.
  EXPECT_EQ(report["batches_per_step"], 3);
  EXPECT_NEAR(report["seconds_of_epochs"][1], 33 * 0.05, 1e-9);
  EXPECT_NEAR(report["epoch_seconds"], 33 * 0.05 + 0.03 / 3, 1e-9);
  EXPECT_NEAR(report["time_sharing_epoch_seconds"], 99 / 4 * 0.06, 0.1);
  EXPECT_EQ(report["devices"].size(), 4U);
  EXPECT_EQ(report["devices"][0]["plan"], "sample");
  EXPECT_EQ(report["devices"][0]["sampled"], 297);
}

TEST(SimulateCommandTest, TimesAreOfAllDevicesOrOfEach) {
  const json report =
      Report({"--ts", "10ms", "--tt", "20ms,40ms", "--tt-standby", "1s,2s",
              "--samplers", "1", "--epochs", "1"});
  EXPECT_EQ(report["k"], 3.0);
  EXPECT_EQ(report["devices"][1]["tt"], 0.04);
  EXPECT_EQ(report["devices"][1]["tt_standby"], 2.0);
  // Of the least Ts / Tt.
  EXPECT_EQ(report["devices"][1]["plan"], "sample");
}

TEST(SimulateCommandTest, StaysWithinWhatMemoryAllows) {
  const json report = Report({"--ts", "10ms", "--tt", "50ms", "--devices", "4",
                              "--most-samplers", "3", "--most-trainers", "2"});
  ASSERT_EQ(report["plans"].size(), 2U);
  EXPECT_EQ(report["plans"][0]["samplers"], 2);
  EXPECT_EQ(report["plans"][1]["samplers"], 3);
  EXPECT_EQ(report["formula_samplers"], 1);
  EXPECT_TRUE(report["formula_epoch_seconds"].is_null());
  EXPECT_THAT(Simulate({"--ts", "10ms", "--tt", "50ms", "--devices", "4",
                        "--most-trainers", "0"})
                  .out,
              HasSubstr("for which there is no memory"));
}

TEST(SimulateCommandTest, TimeSharingIsAPlanToo) {
  const json report = Report(
      {"--ts", "10ms", "--tt", "50ms", "--devices", "2", "--time-sharing"});
  EXPECT_EQ(report["executors"], "time_sharing");
  EXPECT_EQ(report["devices"][0]["plan"], "time_share");
  EXPECT_NEAR(report["epoch_seconds"], 50 * 0.06, 1e-9);
}

TEST(SimulateCommandTest, PeopleReadATable) {
  const SimulateAnswer answer =
      Simulate({"--ts", "10ms", "--tt", "50ms", "--devices", "2"});
  EXPECT_EQ(answer.exit_code, 0) << answer.err;
  EXPECT_THAT(
      answer.out,
      AllOf(HasSubstr("samplers"), HasSubstr("best"), HasSubstr("time sharing"),
            HasSubstr("the paper's formula"), HasSubstr("K = Tt / Ts = 5: 1")));
}

TEST(SimulateCommandTest, TheTraceHoldsEveryPieceOfWork) {
  const std::string path = testing::TempDir() + "fgnn_simulate_trace.json";
  const json report =
      Report({"--ts", "1ms", "--tt", "2ms", "--devices", "2", "--batches", "10",
              "--epochs", "2", "--step-time", "100us", "--trace", path});
  std::ifstream file(path);
  const json trace = json::parse(file);
  std::map<std::string, int> counts;
  std::map<int, double> ends;
  for (const json& event : trace) {
    ++counts[event["ph"].get<std::string>()];
    if (event["ph"] == "i") ++counts[event["name"].get<std::string>()];
    if (event["ph"] != "X") continue;
    ++counts[event["cat"].get<std::string>()];
    const int row = event["tid"];
    EXPECT_GE(event["ts"].get<double>(), ends[row] - 1e-3);
    ends[row] = event["ts"].get<double>() + event["dur"].get<double>();
  }
  EXPECT_EQ(counts["sample"], 20);
  EXPECT_EQ(counts["train"], 20);
  EXPECT_EQ(counts["step"], 10);
  EXPECT_EQ(counts["M"], 3);  // The title and two rows.
  EXPECT_EQ(counts["i"], 2);
  EXPECT_EQ(counts["end of epoch 1"], 1);
  EXPECT_EQ(counts["end of epoch 2"], 1);
  EXPECT_NEAR(std::max(ends[0], ends[1]) * 1e-6, report["total_seconds"], 1e-6);
  std::filesystem::remove(path);
}

struct SimulateWrongUse {
  std::vector<std::string> args;
  std::string names;
};

class SimulateWrongUseTest : public testing::TestWithParam<SimulateWrongUse> {};

TEST_P(SimulateWrongUseTest, IsOneLineThatNamesTheFlag) {
  const SimulateAnswer answer = Simulate(GetParam().args);
  EXPECT_EQ(answer.exit_code, 2) << answer.out;
  EXPECT_EQ(answer.out, "");
  EXPECT_THAT(answer.err, HasSubstr(GetParam().names));
  EXPECT_EQ(answer.err.find('\n'), answer.err.size() - 1) << answer.err;
}

std::vector<std::string> Good(std::vector<std::string> more) {
  more.insert(more.begin(), {"--ts", "10ms", "--tt", "50ms"});
  return more;
}

INSTANTIATE_TEST_SUITE_P(
    All, SimulateWrongUseTest,
    testing::Values(
        SimulateWrongUse{{"--ts", "10ms"}, "--tt"},
        SimulateWrongUse{{"--ts", "10", "--tt", "50ms"},
                         "--ts: '10' is not a time"},
        SimulateWrongUse{{"--ts", "0ms", "--tt", "50ms"}, "--ts: '0ms'"},
        SimulateWrongUse{{"--ts", "1ms,2ms,3ms", "--tt", "1ms,2ms"},
                         "--tt has 2"},
        SimulateWrongUse{Good({"--devices", "65"}), "--devices is 65"},
        SimulateWrongUse{Good({"--devices", "0"}), "--devices is 0"},
        SimulateWrongUse{Good({"--devices", "2", "--samplers", "3"}), "1 to 2"},
        SimulateWrongUse{Good({"--devices", "2", "--samplers", "no"}),
                         "--samplers"},
        SimulateWrongUse{
            Good({"--devices", "3", "--most-trainers", "1", "--samplers", "1"}),
            "--most-trainers forbids"},
        SimulateWrongUse{Good({"--devices", "3", "--most-trainers", "1",
                               "--most-samplers", "1"}),
                         "--most-samplers and --most-trainers"},
        SimulateWrongUse{Good({"--most-samplers", "0"}), "--most-samplers"},
        SimulateWrongUse{Good({"--no-switching"}), "--no-switching"},
        SimulateWrongUse{
            Good({"--devices", "2", "--time-sharing", "--samplers", "1"}),
            "--time-sharing"},
        SimulateWrongUse{Good({"--batches", "0"}), "--batches"},
        SimulateWrongUse{Good({"--batches", "1000000"}), "--batches"},
        SimulateWrongUse{Good({"--slots", "0"}), "--slots"},
        SimulateWrongUse{Good({"--spread", "-1"}), "--spread"},
        SimulateWrongUse{Good({"--switch-time", "x"}), "--switch-time"},
        SimulateWrongUse{Good({"--trace", "/no/such/folder/t.json"}),
                         "--trace"}));

}  // namespace
}  // namespace fgnn
