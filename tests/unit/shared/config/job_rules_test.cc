#include "shared/config/job_rules.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "shared/config/job_spec_proto.h"
#include "tests/fakes/status_matchers.h"
#include "tests/unit/shared/config/job_errors.h"

namespace fgnn {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

TEST(JobRulesTest, RefusesMoreLayersThanHops) {
  EXPECT_EQ(ErrorIn("model: {layers: 3}"),
            "model.layers is 3 but sampling.fanouts lists 2 hops; give one "
            "fanout per layer");
  EXPECT_THAT(ErrorIn("sampling: {fanouts: [5]}"),
              HasSubstr("lists 1 hop; give"));
}

TEST(JobRulesTest, RefusesAFanoutOfZero) {
  EXPECT_EQ(ErrorIn("sampling: {fanouts: [10, 0]}"),
            "sampling.fanouts: 0 for hop 2 is out of range; give 1 to 65535, "
            "or -1 for all neighbours");
}

TEST(JobRulesTest, RefusesKeysThatTheModelDoesNotKnow) {
  EXPECT_THAT(ErrorIn("model: {kind: gcn, aggregator: pool}"),
              AllOf(HasSubstr("model.aggregator is for graphsage"),
                    HasSubstr("model.kind is gcn")));
  EXPECT_THAT(ErrorIn("model: {attention_dropout: 0.1}"),
              HasSubstr("model.attention_dropout is for gat"));
  EXPECT_THAT(
      ErrorIn("model: {layers: 1, normalization: batch}\n"
              "sampling: {fanouts: [4]}"),
      AllOf(HasSubstr("model.normalization is batch"), HasSubstr("one layer")));
  EXPECT_THAT(ErrorIn("model: {kind: pinsage, normalization: batch}"),
              HasSubstr("model.kind pinsage"));
  EXPECT_THAT(
      ErrorIn("model: {residual: true}"),
      AllOf(HasSubstr("model.residual is true"), HasSubstr("of 2 layers")));
  EXPECT_THAT(
      ErrorIn("model: {kind: gat, hidden: 20}"),
      AllOf(HasSubstr("model.hidden is 20"), HasSubstr("model.heads 8")));
}

TEST(JobRulesTest, RefusesABoundOfWeightsThatAreNeverOld) {
  EXPECT_THAT(ErrorIn("training: {staleness: 3}"),
              AllOf(HasSubstr("training.staleness is 3"),
                    HasSubstr("training.sync is steps")));
}

TEST(JobRulesTest, RefusesAModelOfTheUsersThatIsHalfNamed) {
  EXPECT_THAT(ErrorIn("model: {kind: plugin}"),
              HasSubstr("model.plugin is missing"));
  EXPECT_THAT(ErrorIn("model: {kind: torchscript}"),
              HasSubstr("model.file is missing"));
  EXPECT_THAT(ErrorIn("model: {plugin: sage}"),
              AllOf(HasSubstr("model.plugin is 'sage'"),
                    HasSubstr("model.kind is graphsage; make it plugin")));
  EXPECT_THAT(ErrorIn("model: {kind: plugin, plugin: sage, file: a.pt}"),
              HasSubstr("make it torchscript"));
  EXPECT_THAT(ErrorIn("model: {kind: plugin, plugin: sage, residual: true}"),
              HasSubstr("model.residual is for the models that FGNN has"));
  EXPECT_THAT(
      ErrorIn("model: {kind: torchscript, file: a.pt, input_dropout: 0.1}"),
      HasSubstr("model.input_dropout is for"));
  EXPECT_THAT(ErrorIn("model: {kind: plugin, plugin: sage}\n"
                      "training: {precision: bf16}"),
              AllOf(HasSubstr("training.precision is bf16"),
                    HasSubstr("model.kind plugin trains in f32; use f32")));
}

TEST(JobRulesTest, EveryModelThatIsOursTrainsInBfloat16) {
  for (const std::string model :
       {"kind: graphsage", "aggregator: pool", "kind: gcn", "kind: gin",
        "kind: gat", "kind: pinsage"}) {
    const auto spec = ParseJobYaml(
        "dataset: /d\nmodel: {" + model + "}\ntraining: {precision: bf16}",
        "job.yaml");
    FGNN_ASSERT_OK(spec);
    EXPECT_THAT(MakeEffective(*spec, {"cpu:0"}), IsOk()) << model;
  }
}

TEST(JobRulesTest, NamesTheFieldThatIsMissingOrWrong) {
  EXPECT_THAT(ErrorOf("samplers: 1"), HasSubstr("dataset is missing"));
  EXPECT_THAT(ErrorOf("dataset: ''"), HasSubstr("dataset"));
  EXPECT_THAT(ErrorOf("dataset: here"), HasSubstr("not an absolute path"));
  EXPECT_THAT(ErrorIn("limits: {memory: lots}"),
              AllOf(HasSubstr("limits.memory"), HasSubstr("'lots'")));
  EXPECT_THAT(ErrorIn("limits: {memory: 0}"), HasSubstr("limits.memory: 0"));
  EXPECT_THAT(ErrorIn("cache: {capacity: 1.5}"),
              HasSubstr("cache.capacity: '1.5'"));
  EXPECT_THAT(ErrorIn("cache: {capacity: nan}"), HasSubstr("cache.capacity"));
  EXPECT_THAT(ErrorIn("cache: {policy: plugin}"),
              HasSubstr("cache.plugin is missing"));
  EXPECT_THAT(ErrorIn("cache: {plugin: mine}"),
              AllOf(HasSubstr("cache.plugin is 'mine'"), HasSubstr("presc")));
  EXPECT_THAT(
      ErrorIn("cache: {policy: online, epochs: 3}\ntraining: {epochs: 3}"),
      AllOf(HasSubstr("cache.epochs"), HasSubstr("training.epochs is 3")));
  EXPECT_THAT(ErrorIn("training: {momentum: 0.9}"),
              AllOf(HasSubstr("training.momentum is 0.9"),
                    HasSubstr("training.optimizer is adam")));
  EXPECT_THAT(ErrorIn("training: {patience: 3, evaluate_every: 0}"),
              AllOf(HasSubstr("training.patience is 3"),
                    HasSubstr("training.evaluate_every is 0")));
  EXPECT_THAT(ErrorIn("training: {schedule: plateau, evaluate_every: 0}"),
              AllOf(HasSubstr("training.schedule is plateau"),
                    HasSubstr("training.evaluate_every is 0")));
  EXPECT_THAT(
      ErrorIn("training: {schedule: plateau, patience: 4, plateau_epochs: 4}"),
      AllOf(HasSubstr("training.patience is 4"),
            HasSubstr("training.plateau_epochs 4")));
  EXPECT_THAT(ErrorIn("devices: [cpu]"), HasSubstr("devices: device 'cpu'"));
  EXPECT_THAT(ErrorIn("devices: [cpu:0-1, cpu:1]"),
              HasSubstr("devices: cpu:0-1 and cpu:1 share core 1"));
}

TEST(JobRulesTest, RefusesKeysOfLinkPredictionElsewhere) {
  EXPECT_THAT(ErrorIn("training: {negatives: 2}"),
              AllOf(HasSubstr("training.negatives is for link_prediction"),
                    HasSubstr("training.task is node_classification")));
  EXPECT_THAT(ErrorIn("training: {exclude_seed_edges: false}"),
              HasSubstr("training.exclude_seed_edges is for link_prediction"));
}

TEST(JobRulesTest, RefusesWhatLinkPredictionDoesNotKnow) {
  EXPECT_THAT(ErrorIn("model: {kind: gcn}\ntraining: {task: link_prediction}"),
              AllOf(HasSubstr("model.kind gcn"), HasSubstr("use graphsage")));
  EXPECT_THAT(
      ErrorIn("training: {task: link_prediction, label_smoothing: 0.1}"),
      HasSubstr("training.label_smoothing is 0.1"));
  for (const std::string policy : {"vip", "auto"}) {
    EXPECT_THAT(
        ErrorIn("training: {task: link_prediction}\ncache: {policy: " + policy +
                "}"),
        AllOf(HasSubstr("cache.policy " + policy), HasSubstr("use presc")));
  }
  EXPECT_THAT(
      ErrorIn("training: {task: link_prediction, negatives: 1024}\n"
              "sampling: {batch_size: 16384}"),
      AllOf(HasSubstr("sampling.batch_size is 16384"),
            HasSubstr("training.negatives 1024"), HasSubstr("16777216")));
  EXPECT_THAT(ErrorIn("training: {task: link_prediction, negatives: 1025}"),
              HasSubstr("training.negatives"));
}

}  // namespace
}  // namespace fgnn
