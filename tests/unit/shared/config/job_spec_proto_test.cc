#include "shared/config/job_spec_proto.h"

#include <gmock/gmock.h>
#include <google/protobuf/util/message_differencer.h>
#include <gtest/gtest.h>

#include <fstream>
#include <string>
#include <vector>

#include "tests/fakes/status_matchers.h"
#include "tests/fakes/temp_folder.h"
#include "tests/unit/shared/config/job_errors.h"

namespace fgnn {
namespace {

namespace fs = std::filesystem;
using google::protobuf::util::MessageDifferencer;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

constexpr char kJob[] = R"(dataset: /data/packages
model: {kind: graphsage, layers: 3, hidden: 64, dropout: 0.25}
sampling:
  kind: khop
  fanouts: [15, 10, -1]
  batch_size: 512
training: {epochs: 4, learning_rate: 1e-2, seed: 18446744073709551615}
cache: {policy: degree, capacity: 0.25}
devices: [cpu:0-1, "cpu:2"]
samplers: 2
limits: {memory: 2GiB}
)";

TEST(ParseJobYamlTest, ReadsWhatIsWrittenAndNothingElse) {
  FGNN_ASSERT_OK_AND_ASSIGN(const v1::JobSpec spec, ParseJobYaml(kJob, "job"));
  EXPECT_EQ(spec.dataset(), "/data/packages");
  EXPECT_EQ(spec.model().layers(), 3U);
  EXPECT_EQ(spec.model().dropout(), 0.25);
  EXPECT_THAT(spec.sampling().fanouts(), ElementsAre(15, 10, -1));
  EXPECT_EQ(spec.training().learning_rate(), 0.01);
  EXPECT_EQ(spec.training().seed(), ~uint64_t{0});
  EXPECT_EQ(spec.cache().capacity(), "0.25");
  EXPECT_THAT(spec.devices(), ElementsAre("cpu:0-1", "cpu:2"));
  EXPECT_FALSE(spec.has_trainers());
  EXPECT_FALSE(spec.training().has_optimizer());
}

TEST(ParseJobYamlTest, AnEmptyFileAndEmptySectionsSayNothing) {
  FGNN_ASSERT_OK_AND_ASSIGN(v1::JobSpec spec, ParseJobYaml("", "job"));
  EXPECT_EQ(spec.ByteSizeLong(), 0U);
  EXPECT_THAT(ParseJobYaml("model:\n# nothing\n", "job"), IsOk());
}

TEST(ParseJobYamlTest, NamesFileLineAndTheNearestKey) {
  EXPECT_EQ(ErrorOf("dataset: /d\nsampling:\n  fanout: [1]\n"),
            "job.yaml:3: unknown key 'fanout' in sampling; did you mean "
            "'fanouts'?");
  EXPECT_EQ(ErrorOf("trainig: {epochs: 3}\n"),
            "job.yaml:1: unknown key 'trainig'; did you mean 'training'?");
  EXPECT_THAT(ErrorOf("zzzzzzzzzzzz: 3\n"),
              HasSubstr("unknown key 'zzzzzzzzzzzz'; known keys: dataset, "));
}

TEST(ParseJobYamlTest, NamesTheSectionOfAMisplacedKey) {
  EXPECT_EQ(ErrorOf("epochs: 3\n"),
            "job.yaml:1: unknown key 'epochs'; did you mean "
            "'training.epochs'?");
}

TEST(ParseJobYamlTest, NamesFieldValueAndRange) {
  EXPECT_EQ(ErrorIn("sampling: {batch_size: 0}"),
            "job.yaml:2: sampling.batch_size: 0 is out of range; give 1 to "
            "16777216");
  EXPECT_EQ(ErrorIn("model: {dropout: 1.5}"),
            "job.yaml:2: model.dropout: 1.5 is out of range; give 0 to 0.99");
  EXPECT_THAT(ErrorIn("training: {epochs: -1}"),
              HasSubstr("epochs: -1 is out"));
  EXPECT_THAT(ErrorIn("training: {seed: -1}"), HasSubstr("seed: -1 is out"));
  EXPECT_THAT(ErrorIn("training: {seed: 18446744073709551616}"),
              HasSubstr("training.seed: 18446744073709551616"));
}

TEST(ParseJobYamlTest, LargeFanoutsAreARangeErrorHoweverWritten) {
  for (const std::string fanout :
       {"1e9", "1000000000", "99999999999999999999", "65536", "-2", "1e300"}) {
    EXPECT_EQ(ErrorIn("sampling: {fanouts: [10, " + fanout + "]}"),
              "job.yaml:2: sampling.fanouts: " + fanout +
                  " is out of range; give -1 to 65535");
  }
}

TEST(ParseJobYamlTest, TakesWholeNumbersOnlyWhereTheyAreMeant) {
  FGNN_ASSERT_OK_AND_ASSIGN(
      const v1::JobSpec spec,
      ParseJobYaml("sampling: {fanouts: [1e1, 5.0]}", "job"));
  EXPECT_THAT(spec.sampling().fanouts(), ElementsAre(10, 5));
  EXPECT_EQ(ErrorIn("model: {hidden: 2.5}"),
            "job.yaml:2: model.hidden: 2.5 is not a whole number");
  EXPECT_EQ(ErrorIn("model: {hidden: many}"),
            "job.yaml:2: model.hidden: 'many' is not a whole number");
  for (const std::string value : {"nan", "inf", ".inf", "abc", "0.5.5"}) {
    EXPECT_EQ(ErrorIn("model: {dropout: " + value + "}"),
              "job.yaml:2: model.dropout: '" + value + "' is not a number");
  }
}

TEST(ParseJobYamlTest, SaysWhichShapeAValueHas) {
  EXPECT_EQ(ErrorIn("devices: cpu:0"),
            "job.yaml:2: devices takes a list; write [cpu:0]");
  EXPECT_EQ(ErrorIn("samplers: [1]"),
            "job.yaml:2: samplers takes a number, not a list");
  EXPECT_EQ(ErrorIn("samplers: {a: 1}"),
            "job.yaml:2: samplers takes a number, not a block of keys");
  EXPECT_EQ(ErrorIn("samplers:"),
            "job.yaml:2: samplers has no value; give a number or leave the "
            "line out");
  EXPECT_THAT(ErrorIn("model: graphsage"),
              HasSubstr("job.yaml:2: model takes a block of keys"));
  EXPECT_THAT(ErrorOf("[1, 2]"), HasSubstr("takes a block of keys"));
  EXPECT_THAT(ErrorIn("? [a, b]\n: 3\n"), HasSubstr("unknown key"));
}

TEST(ParseJobYamlTest, RefusesAKeyGivenTwice) {
  EXPECT_EQ(ErrorIn("samplers: 1\nsamplers: 2"),
            "job.yaml:3: samplers is given twice");
}

TEST(ParseJobYamlTest, RefusesWhatIsNotYaml) {
  for (const std::string text : {"dataset: [", "a: b: c", "\t- x",
                                 "dataset: \"open", "&a [*a, *b]", "{"}) {
    EXPECT_THAT(ErrorOf(text), HasSubstr("job.yaml")) << text;
  }
  EXPECT_THAT(ErrorOf(std::string(100'000, '[')), HasSubstr("job.yaml"));
}

TEST(ParseJobYamlTest, SaysInOneLineWhatWasWrittenInTwo) {
  EXPECT_EQ(ErrorIn("model: {kind: \"g\\nraph\"}"),
            ErrorIn("model: {kind: \"g\\x0araph\"}"));
  EXPECT_THAT(ErrorIn("\"sam\\npling\": {}"), HasSubstr("'sam\\npling'"));
}

TEST(ParseJobYamlTest, NamesTheChoices) {
  EXPECT_EQ(ErrorIn("cache: {policy: degre}"),
            "job.yaml:2: cache.policy: 'degre' is not known; did you mean "
            "'degree'? choose from: presc, auto, optimal, online, vip, "
            "degree, random, plugin, none");
}

TEST(MakeEffectiveTest, FillsInEveryDefault) {
  v1::JobSpec written;
  written.set_dataset("/d");
  FGNN_ASSERT_OK_AND_ASSIGN(const v1::JobSpec effective,
                            MakeEffective(written, {"cpu:0", "cpu:1"}));
  const JobSpec spec = FromProto(effective);
  EXPECT_EQ(spec.dataset, "/d");
  EXPECT_EQ(spec.model.kind, "graphsage");
  EXPECT_EQ(spec.model.hidden, 256U);
  EXPECT_THAT(spec.sampling.fanouts, ElementsAre(10, 10));
  EXPECT_EQ(spec.training.optimizer, "adam");
  EXPECT_EQ(spec.training.momentum, 0);
  EXPECT_EQ(spec.training.learning_rate, 0.003);
  EXPECT_EQ(spec.training.batches_per_step, 2U);  // One per device.
  EXPECT_EQ(spec.training.keep_checkpoints, 2U);
  EXPECT_EQ(spec.cache.capacity, std::nullopt);
  EXPECT_EQ(spec.cache.epochs, 1U);
  EXPECT_THAT(spec.devices, ElementsAre("cpu:0", "cpu:1"));
  EXPECT_EQ(spec.limits.memory_bytes, std::nullopt);
  EXPECT_EQ(spec.limits.restarts, 5U);
}

TEST(FromProtoTest, TakesOverWhatTheModelIs) {
  FGNN_ASSERT_OK_AND_ASSIGN(
      const v1::JobSpec written,
      ParseJobYaml("dataset: /d\n"
                   "model: {kind: gat, layers: 3, hidden: 12, heads: 3,\n"
                   "  residual: true,\n"
                   "  attention_dropout: 0.5, normalization: batch}\n"
                   "sampling: {fanouts: [2, 2, 2]}\n",
                   "job"));
  FGNN_ASSERT_OK_AND_ASSIGN(const v1::JobSpec effective,
                            MakeEffective(written, {"cpu:0"}));
  const ModelSpec model = FromProto(effective).model;
  EXPECT_EQ(model.kind, "gat");
  EXPECT_EQ(model.hidden, 12U);
  EXPECT_EQ(model.heads, 3U);
  EXPECT_EQ(model.attention_dropout, 0.5);
  EXPECT_EQ(model.normalization, "batch");
  EXPECT_TRUE(model.residual);
  EXPECT_EQ(model.aggregator, "mean");
  EXPECT_EQ(model.degree_norm, "both");
}

TEST(FromProtoTest, TakesOverHowStepsAreMade) {
  FGNN_ASSERT_OK_AND_ASSIGN(
      const v1::JobSpec written,
      ParseJobYaml("dataset: /d\n"
                   "training: {optimizer: sgd, momentum: 0.5, clip_norm: 2,\n"
                   "  schedule: plateau, plateau_epochs: 3, warmup_steps: 4,\n"
                   "  patience: 6, label_smoothing: 0.1,\n"
                   "  sync: bounded_staleness, staleness: 7}\n",
                   "job"));
  FGNN_ASSERT_OK_AND_ASSIGN(const v1::JobSpec effective,
                            MakeEffective(written, {"cpu:0"}));
  const TrainingSpec training = FromProto(effective).training;
  EXPECT_EQ(training.optimizer, "sgd");
  EXPECT_EQ(training.momentum, 0.5);
  EXPECT_EQ(training.clip_norm, 2);
  EXPECT_EQ(training.schedule, "plateau");
  EXPECT_EQ(training.plateau_epochs, 3U);
  EXPECT_EQ(training.warmup_steps, 4U);
  EXPECT_EQ(training.patience, 6U);
  EXPECT_EQ(training.label_smoothing, 0.1);
  EXPECT_EQ(training.sync, "bounded_staleness");
  EXPECT_EQ(training.staleness, 7U);
}

// Releases that knew nothing else wrote no `executors`.
TEST(FromProtoTest, AnEffectiveSpecWithoutExecutorsHasThemTogether) {
  FGNN_ASSERT_OK_AND_ASSIGN(
      const v1::JobSpec written,
      ParseJobYaml("dataset: /d\nsamplers: 1\ntrainers: 2\n"
                   "devices: [cpu:0, cpu:1]\n",
                   "job"));
  FGNN_ASSERT_OK_AND_ASSIGN(v1::JobSpec effective,
                            MakeEffective(written, {"cpu:0"}));
  effective.clear_executors();
  effective.clear_switching();
  const JobSpec spec = FromProto(effective);
  EXPECT_FALSE(spec.takes_turns());
  EXPECT_EQ(spec.num_samplers(), 1U);
  EXPECT_EQ(spec.num_trainers(), 2U);
  // The same of a job.yaml of theirs, which is made effective again.
  FGNN_ASSERT_OK_AND_ASSIGN(const v1::JobSpec again,
                            MakeEffective(effective, {"cpu:0"}));
  EXPECT_EQ(again.executors(), "together");
}

TEST(MakeEffectiveTest, LeavesNoFieldUnset) {
  v1::JobSpec written;
  written.set_dataset("/d");
  FGNN_ASSERT_OK_AND_ASSIGN(const v1::JobSpec effective,
                            MakeEffective(written, {"cpu:0"}));
  // A field without a default would be missing from the text.
  const std::string yaml = ToYaml(effective, /*with_help=*/false);
  const auto expect_all = [&](const google::protobuf::Descriptor& type,
                              const auto& self) -> void {
    for (int i = 0; i < type.field_count(); ++i) {
      // Written instead of names.
      if (type.field(i)->name() == "device_request") continue;
      EXPECT_THAT(yaml, HasSubstr(type.field(i)->name() + ":"));
      if (type.field(i)->message_type() != nullptr) {
        self(*type.field(i)->message_type(), self);
      }
    }
  };
  expect_all(*v1::JobSpec::descriptor(), expect_all);
}

absl::StatusOr<v1::JobSpec> EffectiveOf(const std::string& lines) {
  absl::StatusOr<v1::JobSpec> spec =
      ParseJobYaml("dataset: /d\n" + lines, "job.yaml");
  return spec.ok() ? MakeEffective(*spec, {"cpu:0"}) : spec;
}

TEST(DeviceRequestTest, ANumberOrABlockStandsInThePlaceOfNames) {
  struct Case {
    std::string lines;
    uint32_t min, max;
    std::string kind;
  };
  for (const Case& wanted : std::initializer_list<Case>{
           {"devices: 2\n", 2, 2, "any"},
           {"devices: {}\n", 1, 1, "any"},
           {"devices: {max: 3}\n", 1, 3, "any"},
           {"devices: {min: 2, kind: cpu}\n", 2, 2, "cpu"},
           {"devices:\n  kind: any\n  min: 1\n  max: 4\n", 1, 4, "any"}}) {
    SCOPED_TRACE(wanted.lines);
    FGNN_ASSERT_OK_AND_ASSIGN(const v1::JobSpec effective,
                              EffectiveOf(wanted.lines));
    const JobSpec spec = FromProto(effective);
    EXPECT_THAT(spec.devices, testing::IsEmpty());
    ASSERT_TRUE(spec.device_request.has_value());
    EXPECT_EQ(spec.device_request->min, wanted.min);
    EXPECT_EQ(spec.device_request->max, wanted.max);
    EXPECT_EQ(spec.device_request->kind, wanted.kind);
    // What may be had decides what the job computes, not what it is given.
    EXPECT_EQ(spec.training.batches_per_step, wanted.max);
    EXPECT_EQ(spec.executors, wanted.max > 1 ? "factored" : "together");
    const std::string yaml = ToYaml(effective, /*with_help=*/false);
    EXPECT_THAT(yaml, AllOf(HasSubstr("\ndevices:\n  min: "),
                            Not(HasSubstr("device_request"))));
    FGNN_ASSERT_OK_AND_ASSIGN(const v1::JobSpec back,
                              ParseJobYaml(yaml, "job"));
    EXPECT_TRUE(MessageDifferencer::Equals(effective, back));
    FGNN_ASSERT_OK_AND_ASSIGN(const v1::JobSpec again,
                              MakeEffective(effective, {"cpu:1"}));
    EXPECT_TRUE(MessageDifferencer::Equals(effective, again));
  }
}

TEST(DeviceRequestTest, OverridesReplaceNamesAndNumbers) {
  const TempFolder folder;
  std::ofstream(folder / "job.yaml") << "dataset: /d\ndevices: [cpu:1]\n";
  const auto read = [&](const std::vector<std::string>& overrides) {
    return ReadJobFile(folder / "job.yaml", overrides).value();
  };
  EXPECT_EQ(read({"devices=2"}).device_request().min(), 2U);
  EXPECT_EQ(read({"devices=2"}).devices_size(), 0);
  const v1::JobSpec both = read({"devices={min: 2}", "devices.max=3"});
  EXPECT_EQ(both.device_request().min(), 2U);
  EXPECT_EQ(both.device_request().max(), 3U);
  EXPECT_EQ(read({"devices.kind=cpu"}).devices_size(), 0);
  EXPECT_FALSE(read({"devices=2", "devices=[cpu:3]"}).has_device_request());
}

TEST(DeviceRequestTest, NamesWhatIsWrong) {
  for (const auto& [lines, words] :
       std::initializer_list<std::pair<std::string, std::string>>{
           {"devices: 0\n", "devices.min: 0 is out of range; give 1 to 1024"},
           {"devices: 1.5\n", "devices.min: 1.5 is not a whole number"},
           {"devices: {kind: tpu}\n", "devices.kind: 'tpu' is not known"},
           {"devices: {min: 3, max: 2}\n",
            "devices.min is 3, but devices.max is 2"},
           {"devices: {least: 3}\n", "unknown key 'least' in devices"},
           {"device_request: {min: 3}\n", "unknown key 'device_request'"},
           {"devices: two\n", "devices takes a list; write [two]"},
           {"devices: 2\nexecutors: factored\nsamplers: 3\n",
            "samplers is 3, but the job has 2 devices"},
           {"devices: 65\nexecutors: factored\n", "65 devices"}}) {
    EXPECT_THAT(EffectiveOf(lines),
                StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr(words)))
        << lines;
  }
  v1::JobSpec both = EffectiveOf("devices: 2\n").value();
  both.add_devices("cpu:0");
  EXPECT_THAT(MakeEffective(both, {}),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("names and a number")));
}

TEST(MakeEffectiveTest, KeepsWhatIsWrittenAndIsIdempotent) {
  FGNN_ASSERT_OK_AND_ASSIGN(const v1::JobSpec spec, ParseJobYaml(kJob, "job"));
  FGNN_ASSERT_OK_AND_ASSIGN(const v1::JobSpec once,
                            MakeEffective(spec, {"cpu:7"}));
  FGNN_ASSERT_OK_AND_ASSIGN(const v1::JobSpec twice,
                            MakeEffective(once, {"cpu:8"}));
  EXPECT_TRUE(MessageDifferencer::Equals(once, twice));
  EXPECT_EQ(once.training().batches_per_step(), 2U);
  EXPECT_EQ(once.training().seed(), ~uint64_t{0});
  EXPECT_EQ(FromProto(once).limits.memory_bytes, uint64_t{2} << 30);
}

// A spec may come from another process, past the reader of YAML.
TEST(MakeEffectiveTest, ChecksRangesOfSpecsThatWereNotRead) {
  v1::JobSpec spec;
  spec.set_dataset("/d");
  spec.mutable_sampling()->set_batch_size(0);
  EXPECT_THAT(MakeEffective(spec, {"cpu:0"}),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("sampling.batch_size: 0")));
  spec.mutable_sampling()->set_batch_size(1);
  spec.mutable_sampling()->add_fanouts(70'000);
  spec.mutable_sampling()->add_fanouts(5);
  EXPECT_THAT(MakeEffective(spec, {"cpu:0"}),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("sampling.fanouts: 70000")));
  spec.mutable_sampling()->clear_fanouts();
  spec.mutable_model()->set_kind("cnn");
  EXPECT_THAT(MakeEffective(spec, {"cpu:0"}),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("model.kind: 'cnn'")));
  spec.mutable_model()->clear_kind();
  spec.mutable_model()->set_dropout(std::numeric_limits<double>::quiet_NaN());
  EXPECT_THAT(MakeEffective(spec, {"cpu:0"}),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("model.dropout: nan")));
  spec.mutable_model()->clear_dropout();
  EXPECT_THAT(MakeEffective(spec, {}),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("devices is empty")));
  EXPECT_THAT(MakeEffective(spec, {"cuda:0"}),
              StatusIs(absl::StatusCode::kUnimplemented));
}

TEST(ToYamlTest, RoundTrips) {
  FGNN_ASSERT_OK_AND_ASSIGN(v1::JobSpec spec, ParseJobYaml(kJob, "job"));
  for (const std::string dataset :
       {"/data/packages", "/with blank", "/quote\"back\\slash", "true", "12",
        "/ü/日本", "- x", "a: b", "#c", "/new\nline\t", "~", "null", "'", "@x",
        "/ends:", "{a}", "[b]", "/a, b"}) {
    spec.set_dataset(dataset);
    for (const bool with_help : {false, true}) {
      const std::string yaml = ToYaml(spec, with_help);
      SCOPED_TRACE(yaml);
      FGNN_ASSERT_OK_AND_ASSIGN(const v1::JobSpec back,
                                ParseJobYaml(yaml, "job"));
      EXPECT_TRUE(MessageDifferencer::Equals(spec, back));
    }
  }
}

TEST(ToYamlTest, SaysAutoForWhatIsPlanned) {
  v1::JobSpec written;
  written.set_dataset("/d");
  FGNN_ASSERT_OK_AND_ASSIGN(const v1::JobSpec spec,
                            MakeEffective(written, {"cpu:0", "cpu:1"}));
  const std::string yaml = ToYaml(spec, /*with_help=*/false);
  EXPECT_THAT(yaml, AllOf(HasSubstr("samplers: auto\n"),
                          HasSubstr("trainers: auto\n")));
  FGNN_ASSERT_OK_AND_ASSIGN(const v1::JobSpec back, ParseJobYaml(yaml, "job"));
  EXPECT_TRUE(MessageDifferencer::Equals(spec, back));
  written.set_samplers(2);
  FGNN_ASSERT_OK_AND_ASSIGN(const v1::JobSpec fixed,
                            MakeEffective(written, {"cpu:0", "cpu:1"}));
  EXPECT_THAT(ToYaml(fixed, /*with_help=*/false), HasSubstr("samplers: 2\n"));
}

TEST(ToYamlTest, RoundTripsNumbersExactly) {
  for (const double rate : {1e-12, 0.1, 1.0 / 3, 2.5e-7, 100.0, 0.003}) {
    v1::JobSpec spec;
    spec.mutable_training()->set_learning_rate(rate);
    FGNN_ASSERT_OK_AND_ASSIGN(const v1::JobSpec back,
                              ParseJobYaml(ToYaml(spec, false), "job"));
    EXPECT_EQ(back.training().learning_rate(), rate);
  }
}

TEST(ToYamlTest, PutsHelpUnitRangeAndDefaultBesideAField) {
  v1::JobSpec spec;
  spec.mutable_model()->set_hidden(64);
  EXPECT_EQ(
      ToYaml(spec, /*with_help=*/true),
      "model:\n  hidden: 64  # Width of the hidden layers [columns]; 1 to "
      "65536; default 256\n");
}

class ReadJobFileTest : public testing::Test {
 protected:
  absl::StatusOr<v1::JobSpec> Read(const std::string& yaml,
                                   const std::vector<std::string>& overrides) {
    std::ofstream(path_) << yaml;
    return ReadJobFile(path_, overrides);
  }
  std::string ErrorOfOverride(const std::string& text) {
    const absl::StatusOr<v1::JobSpec> spec = Read("dataset: d", {text});
    EXPECT_THAT(spec, StatusIs(absl::StatusCode::kInvalidArgument)) << text;
    return std::string(spec.status().message());
  }

  TempFolder folder_;
  fs::path path_ = folder_ / "job.yaml";
};

TEST_F(ReadJobFileTest, ADatasetIsRelativeToTheFile) {
  FGNN_ASSERT_OK_AND_ASSIGN(const v1::JobSpec spec,
                            Read("dataset: ./sub/../packages", {}));
  EXPECT_EQ(spec.dataset(), (folder_ / "packages").string());
  FGNN_ASSERT_OK_AND_ASSIGN(const v1::JobSpec absolute,
                            Read("dataset: /data/x", {}));
  EXPECT_EQ(absolute.dataset(), "/data/x");
}

TEST_F(ReadJobFileTest, ADatasetGivenByFlagIsRelativeToTheWorkingFolder) {
  FGNN_ASSERT_OK_AND_ASSIGN(const v1::JobSpec spec,
                            Read("dataset: a", {"dataset=b"}));
  EXPECT_EQ(spec.dataset(), (fs::current_path() / "b").string());
}

TEST_F(ReadJobFileTest, SoIsTheFileOfAModel) {
  const std::string yaml = "model: {kind: torchscript, file: models/a.pt}";
  FGNN_ASSERT_OK_AND_ASSIGN(const v1::JobSpec spec, Read(yaml, {}));
  EXPECT_EQ(spec.model().file(), (folder_ / "models/a.pt").string());
  FGNN_ASSERT_OK_AND_ASSIGN(const v1::JobSpec overridden,
                            Read(yaml, {"model.file=b.pt"}));
  EXPECT_EQ(overridden.model().file(), (fs::current_path() / "b.pt").string());
}

TEST_F(ReadJobFileTest, AFileInTheWorkingFolderNeedsNoFolderInItsName) {
  std::ofstream(path_) << "dataset: a";
  const fs::path before = fs::current_path();
  fs::current_path(folder_.path());
  const absl::StatusOr<v1::JobSpec> spec = ReadJobFile("job.yaml", {});
  fs::current_path(before);
  FGNN_ASSERT_OK(spec);
  EXPECT_EQ(spec->dataset(), (folder_ / "a").string());
}

TEST_F(ReadJobFileTest, OverridesReplaceWhatTheFileSays) {
  FGNN_ASSERT_OK_AND_ASSIGN(
      const v1::JobSpec spec,
      Read(kJob,
           {"training.epochs=9", "sampling.fanouts=[1, 2]", "training.epochs=7",
            "model={layers: 2}", "devices=[cpu:3]"}));
  EXPECT_EQ(spec.training().epochs(), 7U);
  EXPECT_THAT(spec.sampling().fanouts(), ElementsAre(1, 2));
  EXPECT_EQ(spec.model().layers(), 2U);
  EXPECT_EQ(spec.model().hidden(), 64U);
  EXPECT_THAT(spec.devices(), ElementsAre("cpu:3"));
}

TEST_F(ReadJobFileTest, NamesTheOverrideThatIsWrong) {
  EXPECT_EQ(ErrorOfOverride("epochs"),
            "--set epochs: write KEY=VALUE, e.g. training.epochs=3");
  EXPECT_EQ(ErrorOfOverride("epochs=3"),
            "--set epochs=3: unknown key 'epochs'; did you mean "
            "'training.epochs'?");
  EXPECT_EQ(ErrorOfOverride("training.epoch=3"),
            "--set training.epoch=3: unknown key 'epoch' in training; did you "
            "mean 'epochs'?");
  EXPECT_EQ(ErrorOfOverride("training.epochs=0"),
            "--set training.epochs=0: training.epochs: 0 is out of range; give "
            "1 to 1000000");
  EXPECT_THAT(ErrorOfOverride("training.epochs.x=0"),
              HasSubstr("training.epochs has no keys"));
  EXPECT_THAT(ErrorOfOverride("training.epochs="), HasSubstr("has no value"));
  EXPECT_THAT(ErrorOfOverride("devices=cpu:0"), HasSubstr("write [cpu:0]"));
  EXPECT_THAT(ErrorOfOverride("devices=["), HasSubstr("--set devices=["));
  EXPECT_THAT(ErrorOfOverride("=3"), HasSubstr("KEY=VALUE"));
  EXPECT_THAT(ErrorOfOverride("training.=3"), HasSubstr("unknown key ''"));
}

TEST_F(ReadJobFileTest, NamesAFileThatIsNotThere) {
  EXPECT_THAT(ReadJobFile(folder_ / "none.yaml", {}),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("none.yaml")));
  EXPECT_THAT(ReadJobFile(folder_.path(), {}),
              StatusIs(absl::StatusCode::kInvalidArgument));
}

}  // namespace
}  // namespace fgnn
