#include "shared/config/rules/job_rules.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "shared/config/job_spec_proto.h"
#include "tests/fakes/status_matchers.h"
#include "tests/unit/shared/config/job_errors.h"

namespace fgnn {
namespace {

using testing::AllOf;
using testing::HasSubstr;

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
  EXPECT_THAT(ErrorIn("model: {kind: gin, degree_norm: right}"),
              AllOf(HasSubstr("model.degree_norm is for gcn"),
                    HasSubstr("model.kind is gin")));
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

TEST(JobRulesTest, RefusesNcclWhereTrainersAreNoGpusOfTheirOwn) {
  const auto error_with = [](const std::string& lines) {
    return ErrorIn("training: {sync: nccl}\n" + lines);
  };
  EXPECT_EQ(error_with("devices: [cpu:0-1]"),
            "training.sync is nccl, which is for GPUs, but cpu:0-1 trains on "
            "cores; name two or more GPUs, or use sync: steps");
  EXPECT_THAT(error_with("devices: [cpu:0, cuda:0]"),
              HasSubstr("but the job has one GPU"));
  EXPECT_THAT(error_with("devices: {min: 2}"),
              HasSubstr("asked for by number"));
  EXPECT_THAT(error_with("devices: [cuda:0, cuda:1]\ntrainers: 3"),
              AllOf(HasSubstr("trainers is 3"), HasSubstr("has 2 GPUs"),
                    HasSubstr("give 2 to 2")));
  for (const char* const executors : {"factored", "time_sharing"}) {
    EXPECT_THAT(error_with(absl::StrCat(
                    "devices: [cuda:0, cuda:1]\nexecutors: ", executors)),
                AllOf(HasSubstr(absl::StrCat("executors is ", executors)),
                      HasSubstr("use together")));
  }
  EXPECT_THAT(ErrorIn("training: {deterministic: false}"),
              AllOf(HasSubstr("training.deterministic is for nccl"),
                    HasSubstr("training.sync is steps")));
}

TEST(JobRulesTest, EachGpuTrainsAllTheTimeWithNccl) {
  auto spec = ParseJobYaml(
      "dataset: /d\ntraining: {sync: nccl}\n"
      "devices: [cuda:0, cuda:1, cuda:2]\n",
      "job.yaml");
  ASSERT_THAT(spec, IsOk());
  spec = MakeEffective(*spec, {"cpu:0"});
  ASSERT_THAT(spec, IsOk());
  EXPECT_EQ(spec->executors(), "together");
  EXPECT_EQ(spec->trainers(), 3U);
  EXPECT_EQ(spec->training().batches_per_step(), 3U);
  EXPECT_TRUE(spec->training().deterministic());
}

TEST(JobRulesTest, RefusesAWindowOfBatchesThatComeAsDrawn) {
  EXPECT_EQ(ErrorIn("sampling: {window: 8}"),
            "sampling.window is 8, but sampling.order is drawn, which has no "
            "windows; leave it out, or use matched");
  EXPECT_THAT(ErrorIn("sampling: {order: matched, window: 65}"),
              HasSubstr("sampling.window"));
  EXPECT_THAT(ErrorIn("sampling: {order: sorted}"),
              AllOf(HasSubstr("sampling.order"), HasSubstr("matched")));
}

TEST(JobRulesTest, OnlyGpusTrainInTf32) {
  const std::string tf32 = "training: {precision: tf32}\n";
  EXPECT_THAT(ErrorIn(tf32 + "devices: [cpu:0]"),
              HasSubstr("training.precision is tf32, which only GPUs multiply "
                        "in; use f32 or bf16"));
  EXPECT_THAT(ErrorIn(tf32 + "devices: 2"), HasSubstr("only GPUs"));
  for (const char* devices : {"devices: [cuda:0]", "devices: [cpu:0, cuda:0]",
                              "devices: {kind: cuda, min: 1, max: 2}"}) {
    const auto spec =
        ParseJobYaml("dataset: /d\n" + tf32 + devices, "job.yaml");
    FGNN_ASSERT_OK(spec);
    EXPECT_THAT(MakeEffective(*spec, {}), IsOk()) << devices;
  }
  EXPECT_THAT(ErrorIn(tf32 + "model: {kind: plugin, plugin: sage}"),
              HasSubstr("model.kind plugin trains in f32; use f32"));
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

TEST(JobRulesTest, SeveralDevicesHaveOneRoleAtATimeUnlessTrainersAreNamed) {
  EXPECT_EQ(EffectiveOf("").executors, "together");
  EXPECT_EQ(EffectiveOf("samplers: 3").executors, "together");
  const JobSpec two = EffectiveOf("devices: [cpu:0, cpu:1]");
  EXPECT_EQ(two.executors, "factored");
  EXPECT_TRUE(two.switching);
  EXPECT_EQ(two.samplers, 0U);
  EXPECT_EQ(two.num_samplers(), 2U);
  EXPECT_EQ(two.num_trainers(), 2U);
  const JobSpec named = EffectiveOf("devices: [cpu:0, cpu:1]\ntrainers: 3");
  EXPECT_EQ(named.executors, "together");
  EXPECT_EQ(named.num_samplers(), 1U);
  EXPECT_EQ(named.num_trainers(), 3U);
  const JobSpec alone = EffectiveOf("executors: factored");
  EXPECT_TRUE(alone.takes_turns());
  EXPECT_EQ(alone.num_trainers(), 1U);
}

TEST(JobRulesTest, AStepHasABatchForEachDeviceThatMayTrain) {
  const auto batches_per_step = [](const std::string& lines) {
    return EffectiveOf("devices: [cpu:0, cpu:1, cpu:2]\n" + lines)
        .training.batches_per_step;
  };
  EXPECT_EQ(batches_per_step(""), 3U);
  EXPECT_EQ(batches_per_step("samplers: 2"), 3U);
  EXPECT_EQ(batches_per_step("samplers: 2\nswitching: false"), 1U);
  EXPECT_EQ(batches_per_step("switching: false"), 3U);  // Samplers are planned.
  EXPECT_EQ(batches_per_step("executors: time_sharing"), 3U);
  EXPECT_EQ(batches_per_step("executors: together"), 3U);
  EXPECT_EQ(batches_per_step("training: {batches_per_step: 5}"), 5U);
}

TEST(JobRulesTest, CoresSampleWhileGpusTrain) {
  const JobSpec spec = EffectiveOf("devices: [cpu:0, cuda:0, cpu:1, cuda:1]");
  EXPECT_EQ(spec.executors, "together");
  EXPECT_EQ(spec.samplers, 2U);
  EXPECT_EQ(spec.trainers, 2U);
  EXPECT_EQ(spec.training.batches_per_step, 2U);
  EXPECT_EQ(EffectiveOf("devices: [cuda:0]").executors, "together");
  EXPECT_EQ(EffectiveOf("devices: [cuda:0, cuda:1]").executors, "factored");
  const JobSpec more =
      EffectiveOf("devices: [cuda:0, cpu:0]\nsamplers: 2\ntrainers: 3");
  EXPECT_EQ(more.samplers, 2U);
  EXPECT_EQ(more.trainers, 3U);
}

TEST(JobRulesTest, SomeModelsTrainOnCoresAlone) {
  for (const auto& [model, named] :
       {std::pair("{kind: plugin, plugin: /m.so}", "model.kind plugin"),
        std::pair("{kind: python, file: /m.py, class_name: Sage}",
                  "model.kind python"),
        std::pair("{kind: torchscript, file: /m.pt}",
                  "model.kind torchscript")}) {
    const std::string job = absl::StrCat("model: ", model, "\ndevices: ");
    EXPECT_EQ(EffectiveOf(job + "[cpu:0]").devices.size(), 1U);
    EXPECT_THAT(ErrorIn(job + "[cpu:0, cuda:0]"),
                AllOf(HasSubstr(named), HasSubstr("name no GPU in devices")));
  }
}

TEST(JobRulesTest, CoresBesideAGpuSampleWhileGpusTakeTurns) {
  const std::string job =
      "devices: [cpu:0, cuda:0, cpu:1, cuda:1]\nexecutors: ";
  const JobSpec spec = EffectiveOf(job + "factored");
  EXPECT_EQ(spec.num_samplers(), 4U);
  EXPECT_EQ(spec.num_trainers(), 2U);
  EXPECT_EQ(spec.training.batches_per_step, 2U);
  EXPECT_EQ(EffectiveOf(job + "factored\nsamplers: 3\nswitching: false")
                .training.batches_per_step,
            1U);
  EXPECT_THAT(ErrorIn(job + "factored\nsamplers: 1"),
              HasSubstr("2 devices that only sample beside a GPU; give 2"));
  EXPECT_THAT(ErrorIn(job + "time_sharing"),
              AllOf(HasSubstr("executors is time_sharing"),
                    HasSubstr("cpu:0 only samples"),
                    HasSubstr("use factored or together")));
}

TEST(JobRulesTest, RefusesWhatTheExecutorsDoNotKnow) {
  EXPECT_THAT(ErrorIn("switching: false"),
              AllOf(HasSubstr("switching is false"), HasSubstr("together")));
  EXPECT_THAT(ErrorIn("executors: factored\ntrainers: 2"),
              AllOf(HasSubstr("trainers is 2"), HasSubstr("is factored")));
  EXPECT_THAT(ErrorIn("executors: time_sharing\ntrainers: 1"),
              HasSubstr("is time_sharing"));
  EXPECT_THAT(ErrorIn("executors: time_sharing\nsamplers: 1"),
              HasSubstr("samplers is for factored"));
  EXPECT_THAT(ErrorIn("executors: time_sharing\nswitching: false"),
              HasSubstr("switching is for factored"));
  EXPECT_THAT(ErrorIn("executors: factored\nsamplers: 2"),
              AllOf(HasSubstr("samplers is 2"), HasSubstr("1 device;")));
  EXPECT_THAT(ErrorIn("executors: factored\nswitching: false"),
              HasSubstr("nobody is left to train"));
  EXPECT_THAT(ErrorIn("devices: [cpu:0, cpu:1]\nsamplers: 2\nswitching: false"),
              HasSubstr("nobody is left to train"));
  std::string many = "devices: [cpu:0";
  for (int core = 1; core < 65; ++core) many += absl::StrCat(", cpu:", core);
  EXPECT_THAT(ErrorIn(many + "]"),
              AllOf(HasSubstr("65 devices"), HasSubstr("at most 64")));
  EXPECT_THAT(ErrorIn("executors: shared"),
              AllOf(HasSubstr("executors: 'shared'"),
                    HasSubstr("factored, time_sharing, together")));
}

TEST(JobRulesTest, OnlyStandbyTrainersHaveAStandbyCapacity) {
  const std::string cache = "cache: {standby_capacity: 0.5}\n";
  const std::string devices = "devices: [cpu:0, cpu:1]\n";
  EXPECT_EQ(EffectiveOf(devices + cache).cache.standby_capacity, 0.5);
  EXPECT_EQ(EffectiveOf(devices).cache.standby_capacity, std::nullopt);
  EXPECT_THAT(ErrorIn(cache), AllOf(HasSubstr("standby_capacity is 0.5"),
                                    HasSubstr("executors is together")));
  EXPECT_THAT(ErrorIn(devices + cache + "executors: time_sharing"),
              HasSubstr("executors is time_sharing"));
  EXPECT_THAT(ErrorIn(devices + cache + "samplers: 1\nswitching: false"),
              HasSubstr("switching is false"));
}

TEST(JobRulesTest, AutoStandsForZero) {
  const std::string devices = "devices: [cpu:0, cpu:1]\n";
  EXPECT_EQ(EffectiveOf(devices + "samplers: auto").samplers, 0U);
  EXPECT_EQ(EffectiveOf(devices + "samplers: 0").samplers, 0U);
  EXPECT_THAT(ErrorIn("samplers: many"), HasSubstr("samplers: 'many'"));
  EXPECT_THAT(ErrorIn("samplers: 65"), HasSubstr("0 to 64, or auto"));
  EXPECT_THAT(ErrorIn("training: {epochs: auto}"),
              HasSubstr("training.epochs: 'auto'"));
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
  EXPECT_THAT(ErrorIn("cache: {standby_capacity: -1}"),
              HasSubstr("cache.standby_capacity: '-1'"));
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
  EXPECT_THAT(ErrorIn("devices: [cuda:0, cuda:0+cpu:0]"),
              HasSubstr("cuda:0 and cuda:0+cpu:0 share GPU 0; give each its "
                        "own"));
}

TEST(JobRulesTest, RefusesKeysOfLinkPredictionElsewhere) {
  EXPECT_THAT(ErrorIn("training: {negatives: 2}"),
              AllOf(HasSubstr("training.negatives is for link_prediction"),
                    HasSubstr("training.task is node_classification")));
  EXPECT_THAT(ErrorIn("training: {exclude_seed_edges: false}"),
              HasSubstr("training.exclude_seed_edges is for link_prediction"));
}

TEST(JobRulesTest, RefusesWhatTasksWithTargetsDoNotKnow) {
  for (const std::string task :
       {"node_regression", "multi_label_classification"}) {
    const std::string training = "training: {task: " + task;
    EXPECT_THAT(ErrorIn(training + ", label_smoothing: 0.1}"),
                AllOf(HasSubstr("training.label_smoothing is 0.1"),
                      HasSubstr("training.task is " + task)));
    EXPECT_THAT(ErrorIn(training + ", negatives: 2}"),
                AllOf(HasSubstr("training.negatives is for link_prediction"),
                      HasSubstr("training.task is " + task)));
    const auto spec =
        ParseJobYaml("dataset: /d\n" + training + "}", "job.yaml");
    FGNN_ASSERT_OK(spec);
    FGNN_ASSERT_OK(MakeEffective(*spec, {"cpu:0"}));
  }
  EXPECT_THAT(ErrorIn("training: {task: regression}"),
              AllOf(HasSubstr("training.task"), HasSubstr("node_regression")));
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
