// What is GAT's own of a model.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "tests/fakes/status_matchers.h"
#include "trainer_service/nn/cpu/cpu_model.h"
#include "trainer_service/nn/model.h"

namespace fgnn {
namespace {

ModelOptions SmallGat() {
  ModelOptions options;
  options.kind = "gat";
  options.layers = 2;
  options.hidden = 24;
  options.heads = 3;
  options.input_columns = 19;
  options.num_classes = 5;
  return options;
}

TEST(GatTest, ParametersAreNamedAndShapedAsGatConvHasThem) {
  const ModelOptions options = SmallGat();
  const std::vector<ParameterInfo> parameters = ParametersOf(options);
  std::vector<std::string> names;
  for (const ParameterInfo& parameter : parameters) {
    names.push_back(parameter.name);
    EXPECT_EQ(parameter.decay, parameter.shape.size() > 1) << parameter.name;
  }
  EXPECT_THAT(names,
              testing::ElementsAre("convs.0.lin.weight", "convs.0.att_src",
                                   "convs.0.att_dst", "convs.0.bias",
                                   "convs.1.lin.weight", "convs.1.att_src",
                                   "convs.1.att_dst", "convs.1.bias"));
  EXPECT_THAT(parameters[0].shape, testing::ElementsAre(24, 19));
  EXPECT_THAT(parameters[1].shape, testing::ElementsAre(1, 3, 8));
  EXPECT_DOUBLE_EQ(parameters[1].initial_bound, std::sqrt(6.0 / (3 + 8)));
  EXPECT_THAT(parameters[3].shape, testing::ElementsAre(24));
  // The last layer has one head.
  EXPECT_THAT(parameters[6].shape, testing::ElementsAre(1, 1, 5));
  EXPECT_EQ(NumParameters(options), 24U * 19 + 3 * 24 + 5 * 24 + 3 * 5);
}

TEST(GatTest, RefusesAttentionThatDoesNotFitTheLayers) {
  ThreadTeam team(1);
  const auto make = [&team](auto change) {
    ModelOptions options = SmallGat();
    change(options);
    return MakeCpuModel(options, &team).status();
  };
  const auto invalid = [](const std::string& part) {
    return StatusIs(absl::StatusCode::kInvalidArgument,
                    testing::HasSubstr(part));
  };
  EXPECT_THAT(make([](ModelOptions& o) { o.heads = 24; }), IsOk());
  EXPECT_THAT(make([](ModelOptions& o) { o.heads = 0; }),
              invalid("model.heads is 0"));
  EXPECT_THAT(make([](ModelOptions& o) { o.heads = 5; }),
              invalid("model.heads 5 does not divide"));
  EXPECT_THAT(make([](ModelOptions& o) {
                o.hidden = 514;
                o.heads = 257;
              }),
              invalid("[1, 256]"));
  EXPECT_THAT(make([](ModelOptions& o) { o.attention_dropout = NAN; }),
              invalid("attention_dropout"));
}

}  // namespace
}  // namespace fgnn
