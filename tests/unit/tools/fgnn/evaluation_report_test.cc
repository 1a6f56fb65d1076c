#include "tools/fgnn/reports/evaluation_report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace fgnn {
namespace {

using testing::HasSubstr;

PlanInput InputOfALongEvaluation() {
  PlanInput input;
  input.spec.model.layers = 2;
  input.spec.model.hidden = 100;
  input.spec.hosts.evaluation = "auto";
  input.dataset = {.num_nodes = 1'000'000,
                   .feature_columns = 100,
                   .num_edges = 100'000'000,
                   .num_scored = 1000,
                   .num_outputs = 5};
  input.sampling.hops = {{100, 600, 500}, {600, 3000, 2500}};
  input.training.seconds_per_batch = 0.01;
  return input;
}

// What comes to the service's own host is measured there.
v1::ListDevicesResponse LinksOfRate(double bytes_per_second) {
  v1::ListDevicesResponse links;
  links.set_host("head");
  for (const bool to_head : {true, false}) {
    v1::HostLink& link = *links.add_links();
    link.set_from(to_head ? "head" : "host1");
    link.set_to(to_head ? "host1" : "head");
    link.set_bytes_per_second(bytes_per_second);
  }
  return links;
}

const std::vector<HostShare>& HeadAndHost1() {
  static const std::vector<HostShare> hosts = {
      {.name = "", .num_training = 1, .num_places = 1},
      {.name = "host1", .num_training = 1, .num_places = 1}};
  return hosts;
}

TEST(EvaluationReportTest, SaysWhoEvaluatesAndWhy) {
  const PlanInput input = InputOfALongEvaluation();
  const EvaluationChoice fast =
      PlanEvaluation(input, HeadAndHost1(), LinksOfRate(1e9));
  EXPECT_THAT(ToText(fast), HasSubstr("all hosts evaluate: an evaluation "));
  EXPECT_THAT(ToText(fast), HasSubstr("with 190.7 MiB to each"));
  EXPECT_EQ(ToJson(fast)["by"], "all");
  const EvaluationChoice slow =
      PlanEvaluation(input, HeadAndHost1(), LinksOfRate(1e5));
  EXPECT_THAT(ToText(slow), HasSubstr("the service's own host evaluates: "));
  EXPECT_EQ(ToJson(slow)["by"], "head");
  EXPECT_GT(ToJson(slow)["all_seconds"], ToJson(slow)["alone_seconds"]);
  const EvaluationChoice unknown = PlanEvaluation(input, HeadAndHost1(), {});
  EXPECT_THAT(ToText(unknown), HasSubstr("is known once a job has run"));
  EXPECT_TRUE(ToJson(unknown)["all_seconds"].is_null());
}

}  // namespace
}  // namespace fgnn
