#include "shared/config/rules/part_rules.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "absl/strings/str_cat.h"
#include "shared/config/rules/match_rules.h"
#include "tests/unit/shared/config/job_errors.h"

namespace fgnn {
namespace {

using testing::AllOf;
using testing::HasSubstr;

// A job of two parts, each with a trainer.
constexpr char kTwo[] =
    "executors: together\ntrainers: 2\nmodel: {dropout: 0}\n";

std::string ErrorWith(const std::string& lines) {
  return ErrorIn(absl::StrCat("executors: together\ntrainers: 2\n", lines));
}

TEST(PartRulesTest, APartHasATrainerOfItsOwnUnlessTheJobSaysOtherwise) {
  EffectiveOf(absl::StrCat(kTwo, "training: {parts: 2}"));
  EXPECT_THAT(ErrorWith("training: {parts: 3}"),
              AllOf(HasSubstr("training.parts is 3, but 2 trainers may train"),
                    HasSubstr("use 2, raise trainers, or set "
                              "training.parts_on_fewer_trainers")));
  EffectiveOf(absl::StrCat(
      kTwo, "training: {parts: 3, parts_on_fewer_trainers: true}"));
  // Devices that switch may all train.
  EffectiveOf(
      "devices: [cpu:0, cpu:1]\nexecutors: factored\ntraining: {parts: 2}");
  EffectiveOf("devices: [cuda:0, cuda:1]\ntraining: {parts: 2}");
  // Cores beside a GPU only sample.
  EXPECT_THAT(ErrorIn("devices: [cuda:0, cpu:0]\ntraining: {parts: 2}"),
              HasSubstr("but 1 trainer may train"));
  EXPECT_THAT(
      ErrorIn("devices: [cpu:0, cpu:1]\nexecutors: factored\n"
              "training: {parts: 4}"),
      AllOf(HasSubstr("but 2 devices may train"), HasSubstr("use 2, or set")));
}

TEST(PartRulesTest, WhatNeedsWholeBatchesIsRefused) {
  for (const auto& [lines, words] :
       std::vector<std::pair<std::string, std::string>>{
           {"training: {parts: 2, sync: bounded_staleness}", "use steps"},
           {"training: {parts: 2, task: link_prediction}", "use 1"},
           {"training: {parts: 2}\nmodel: {kind: plugin, plugin: sage}",
            "use a kind of ours"},
           {"training: {parts: 2}\nmodel: {normalization: batch}", "use layer"},
           {"training: {parts: 2, batches_per_step: 2}\nhosts: {max: 2}",
            "parts are of one host"},
           {"training: {parts: 2}\nfeatures: {match: window}",
            "use on or auto"}}) {
    EXPECT_THAT(ErrorWith(lines),
                AllOf(HasSubstr("training.parts is 2"), HasSubstr(words)))
        << lines;
  }
}

// A whole batch shares nothing.
TEST(PartRulesTest, AJobThatSharesInputsIsToldHowToHaveWholeBatches) {
  for (const std::string lines :
       {"task: link_prediction}", "batches_per_step: 2}\nhosts: {max: 2}"}) {
    EXPECT_THAT(ErrorWith("training: {parts: 2, share_inputs: on, " + lines),
                HasSubstr("use 1, with training.share_inputs auto"));
  }
  EXPECT_THAT(ErrorIn("devices: [cuda:0, cpu:0]\n"
                      "training: {parts: 2, share_inputs: on}"),
              HasSubstr("use 1, with training.share_inputs auto, raise "
                        "trainers, or set"));
}

TEST(PartRulesTest, TheQueueHoldsWholeBatches) {
  const auto job = [](const std::string& slots) {
    return absl::StrCat(
        "executors: together\ntrainers: 4\ntraining: {parts: 4}\nqueue: "
        "{slots: ",
        slots, "}");
  };
  const auto error = [&](const std::string& slots) {
    return ErrorIn(job(slots));
  };
  for (const char* const slots : {"0", "8", "12"}) EffectiveOf(job(slots));
  EXPECT_THAT(error("4"), HasSubstr("use 8"));
  EXPECT_THAT(error("13"), HasSubstr("use 12"));
  EXPECT_THAT(error("14"), HasSubstr("use 16"));
}

TEST(PartRulesTest, AStepTakesAsManyBatchesAsItsPartsLeaveDevices) {
  const auto places = [](const std::string& lines) {
    return EffectiveOf(lines).training.batches_per_step;
  };
  const std::string four = "devices: [cpu:0, cpu:1, cpu:2, cpu:3]\n";
  EXPECT_EQ(places(four), 4U);
  EXPECT_EQ(places(four + "training: {parts: 2}"), 2U);
  EXPECT_EQ(places(four + "training: {parts: 3}"), 1U);
  EXPECT_EQ(places(four + "training: {parts: 2, batches_per_step: 5}"), 5U);
}

TEST(PartRulesTest, ATrainerOfPartsLooksAtNoBatchAhead) {
  const JobSpec spec = EffectiveOf(
      "training: {parts: 2, parts_on_fewer_trainers: true}\n"
      "executors: together");
  EXPECT_TRUE(ChooseMatch(spec, true).matches);
  EXPECT_FALSE(ChooseMatch(spec, true).looks_ahead);
}

}  // namespace
}  // namespace fgnn
