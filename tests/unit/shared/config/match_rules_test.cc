#include "shared/config/rules/match_rules.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "tests/unit/shared/config/job_errors.h"

namespace fgnn {
namespace {

using testing::AllOf;
using testing::HasSubstr;

TEST(MatchRulesTest, RowsThatTrainingChangesAreNotCopied) {
  EXPECT_THAT(ErrorIn("features: {match: on}\nmodel: {input_dropout: 0.5}"),
              AllOf(HasSubstr("features.match is on, but model.input_dropout"),
                    HasSubstr("use auto, or off")));
  EXPECT_THAT(ErrorIn("features: {match: on}\n"
                      "model: {kind: plugin, plugin: sage}"),
              HasSubstr("features.match is on, but a model of your own"));
  const auto matches = [](const std::string& lines, bool are_loaded) {
    return ChooseMatch(EffectiveOf(lines), are_loaded).matches;
  };
  EXPECT_TRUE(matches("", true));
  EXPECT_FALSE(matches("", false));
  EXPECT_FALSE(matches("model: {input_dropout: 0.5}", true));
  EXPECT_FALSE(matches("model: {kind: plugin, plugin: sage}", true));
  EXPECT_TRUE(matches("features: {match: on}", false));
  EXPECT_FALSE(matches("features: {match: off}", true));
  EXPECT_EQ(
      ChooseMatch(EffectiveOf("model: {input_dropout: 0.5}"), true).reason,
      "model.input_dropout changes a batch's features in place");
}

TEST(MatchRulesTest, ASingleTrainerWithACacheLooksAhead) {
  const auto looks_ahead = [](const std::string& lines, bool are_loaded) {
    return ChooseMatch(EffectiveOf(lines), are_loaded).looks_ahead;
  };
  EXPECT_TRUE(looks_ahead("", true));
  EXPECT_FALSE(looks_ahead("", false));
  EXPECT_FALSE(looks_ahead("model: {input_dropout: 0.5}", true));
  EXPECT_FALSE(looks_ahead("cache: {policy: none}", true));
  EXPECT_FALSE(looks_ahead("trainers: 2", true));
  EXPECT_FALSE(looks_ahead("sampling: {order: matched}", true));
  EXPECT_FALSE(looks_ahead("features: {match: on}", true));
  EXPECT_FALSE(looks_ahead("features: {match: off}", true));
  EXPECT_TRUE(looks_ahead("features: {match: window}", false));
  EXPECT_TRUE(
      ChooseMatch(EffectiveOf("features: {match: window}"), true).matches);
  EXPECT_THAT(ErrorIn("features: {match: window}\n"
                      "model: {input_dropout: 0.5}"),
              HasSubstr("features.match is window, but model.input_dropout"));
  EXPECT_THAT(ErrorIn("features: {match: window}\ncache: {policy: none}"),
              AllOf(HasSubstr("features.match is window"),
                    HasSubstr("set it to presc, or features.match to on")));
}

}  // namespace
}  // namespace fgnn
