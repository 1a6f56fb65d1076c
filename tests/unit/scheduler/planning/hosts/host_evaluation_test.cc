#include "scheduler/planning/hosts/host_evaluation.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <vector>

#include "scheduler/planning/memory_plan.h"
#include "tests/unit/scheduler/planning/plan_input.h"

namespace fgnn {
namespace {

constexpr uint64_t kEvaluatedNodes = 1'000'000;

// A model of three layers, 100 -> 64 -> 64 -> 10, on a graph of a million
// vertices of degree 50. A tenth of them is tested.
PlanInput EvaluatedInput(const std::string& evaluation = "auto") {
  PlanInput input = SomeInput();
  input.spec.model.layers = 3;
  input.spec.hosts.evaluation = evaluation;
  input.dataset.feature_columns = 100;
  input.dataset.num_edges = 50 * kEvaluatedNodes;
  input.dataset.num_scored = kEvaluatedNodes / 10;
  input.dataset.num_outputs = 10;
  input.training.seconds_per_batch = 0.5;
  input.sampling.hops = {{1024, 11'000, 10'240},
                         {11'000, 60'000, 55'000},
                         {60'000, 200'000, 150'000}};
  return input;
}

std::vector<HostShare> TwoHosts(uint64_t of_head = 1, uint64_t of_other = 1) {
  return {{.name = "", .num_training = of_head, .num_places = 1},
          {.name = "host1", .num_training = of_other, .num_places = 1}};
}

RateBetween Rate(double bytes_per_second) {
  return [bytes_per_second](const HostShare&, const HostShare&) {
    return std::optional(bytes_per_second);
  };
}

TEST(HostEvaluationTest, ResultsAreTheOutputsOfAllLayers) {
  PlanInput input = EvaluatedInput();
  const uint64_t hidden = 2 * kEvaluatedNodes * 64 * sizeof(float);
  EXPECT_EQ(ResultBytes(input),
            hidden + kEvaluatedNodes / 10 * 10 * sizeof(float));
  // Links need the last layer's outputs of all vertices.
  input.spec.training.task = "link_prediction";
  input.dataset.num_scored = kEvaluatedNodes;
  EXPECT_EQ(ResultBytes(input), hidden / 2 * 3);
  input.spec.model.layers = 1;
  EXPECT_EQ(ResultBytes(input), hidden / 2);
}

TEST(HostEvaluationTest, AHostGetsWhatItDoesNotCompute) {
  const PlanInput input = EvaluatedInput();
  const EvaluationChoice choice =
      ChooseEvaluation(input, TwoHosts(3, 1), Rate(1e9));
  EXPECT_EQ(choice.bytes, ResultBytes(input) / 4 * 3);
}

TEST(HostEvaluationTest, AutoDependsOnTheNetwork) {
  const PlanInput input = EvaluatedInput();
  const EvaluationChoice fast = ChooseEvaluation(input, TwoHosts(), Rate(10e9));
  ASSERT_TRUE(fast.all_seconds.has_value());
  EXPECT_TRUE(fast.by_all);
  EXPECT_LT(*fast.all_seconds, fast.alone_seconds);
  // More than a half is left: each host makes all messages.
  EXPECT_GT(*fast.all_seconds, fast.alone_seconds / 2);
  const EvaluationChoice slow = ChooseEvaluation(input, TwoHosts(), Rate(1e7));
  EXPECT_FALSE(slow.by_all);
  EXPECT_EQ(slow.alone_seconds, fast.alone_seconds);
  EXPECT_EQ(slow.bytes, fast.bytes);
  // Half of the results come, and half go.
  EXPECT_NEAR(*slow.all_seconds - *fast.all_seconds,
              static_cast<double>(slow.bytes) * (1 / 1e7 - 1 / 10e9), 1e-6);
}

TEST(HostEvaluationTest, AShortEvaluationIsNotWorthAMeeting) {
  PlanInput input = EvaluatedInput();
  input.dataset.num_nodes = 1000;
  input.dataset.num_edges = 50'000;
  input.dataset.num_scored = 100;
  EXPECT_FALSE(ChooseEvaluation(input, TwoHosts(), Rate(10e9)).by_all);
}

TEST(HostEvaluationTest, WithoutLinksTheHeadEvaluates) {
  const EvaluationChoice choice = ChooseEvaluation(
      EvaluatedInput(), TwoHosts(),
      [](const HostShare&, const HostShare&) -> std::optional<double> {
        return std::nullopt;
      });
  EXPECT_FALSE(choice.by_all);
  EXPECT_EQ(choice.all_seconds, std::nullopt);
  EXPECT_GT(choice.alone_seconds, 0);
}

TEST(HostEvaluationTest, TheFieldDecidesWhereItIsGiven) {
  EXPECT_TRUE(
      ChooseEvaluation(EvaluatedInput("all"), TwoHosts(), Rate(1)).by_all);
  EXPECT_FALSE(
      ChooseEvaluation(EvaluatedInput("head"), TwoHosts(), Rate(1e12)).by_all);
  EXPECT_FALSE(ChooseEvaluation(EvaluatedInput("all"),
                                {{.name = "", .num_training = 2}}, Rate(1e9))
                   .by_all);
}

TEST(HostEvaluationTest, ThePlanHasRoomForTheResultsOfAll) {
  const auto total = [](const std::string& evaluation, uint64_t num_hosts) {
    PlanInput input = EvaluatedInput(evaluation);
    input.num_hosts = num_hosts;
    input.places_after = num_hosts - 1;
    return PlanJob(input).value().total_bytes;
  };
  const uint64_t alone = total("head", 2);
  EXPECT_EQ(total("auto", 2), alone);
  EXPECT_EQ(total("all", 2), alone + ResultBytes(EvaluatedInput()));
  EXPECT_EQ(total("all", 1), total("head", 1));
}

}  // namespace
}  // namespace fgnn
