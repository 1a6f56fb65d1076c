// What job.yaml says: reading it, overriding it, and what is wrong in it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

#include "shared/config/job_spec_proto.h"
#include "tests/fakes/status_matchers.h"
#include "tests/fakes/temp_folder.h"
#include "tests/unit/shared/config/job_errors.h"

namespace fgnn {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::HasSubstr;

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

TEST(ParseJobYamlTest, KnowsWhatOthersCallItsKeys) {
  EXPECT_EQ(ErrorOf("dataset: /d\ntraining: {lr: 0.01}\n"),
            "job.yaml:2: unknown key 'lr' in training; did you mean "
            "'learning_rate'?");
  const std::vector<std::pair<std::string, std::string>> meant = {
      {"lr: 0.01", "training.learning_rate"},
      {"model: {lr: 0.01}", "training.learning_rate"},
      {"training: {batch_size: 64}", "sampling.batch_size"},
      {"model: {dataset: x}", "dataset"},
      {"model: {num_layers: 2}", "layers"},
      {"model: {hidden_channels: 2}", "hidden"},
      {"model: {type: gcn}", "kind"},
      {"sampling: {num_neighbors: [5, 5]}", "fanouts"},
      {"sampling: {walk_length: 5}", "walks.length"},
      {"num_epochs: 5", "training.epochs"},
      {"training: {wd: 0.1}", "weight_decay"},
      {"gpus: 1", "devices"}};
  for (const auto& [line, path] : meant) {
    EXPECT_THAT(ErrorIn(line), HasSubstr("did you mean '" + path + "'?"));
  }
}

TEST(ParseJobYamlTest, NamesTheLineOfASecondDocument) {
  const std::string job = "dataset: /d\nmodel: {hidden: 8}\n";
  for (const std::string behind :
       {"---\ntraining: {epochs: 3}\n", "...\n---\nepochs\n",
        "---\n---\nmodel:\n"}) {
    EXPECT_THAT(ErrorOf(job + behind), HasSubstr("a second document begins"));
  }
  EXPECT_THAT(ErrorOf("{dataset: /d}\n{training: {epochs: 3}}\n"),
              HasSubstr("job.yaml:2: "));
  EXPECT_THAT(ErrorOf(job + "---\nmodel:\n"), HasSubstr("job.yaml:4: "));
  EXPECT_THAT(ParseJobYaml("---\n" + job + "---\n# nothing\n...\n", "job"),
              IsOk());
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
              HasSubstr("training.seed: 18446744073709551616 is out of range; "
                        "give 0 to 18446744073709551615"));
  EXPECT_THAT(ErrorIn("training: {seed: 1e19}"),
              HasSubstr("1e19 may be rounded; write all its digits"));
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

TEST_F(ReadJobFileTest, SoIsAnInterpreter) {
  FGNN_ASSERT_OK_AND_ASSIGN(
      const v1::JobSpec spec,
      Read("model: {kind: python, python: venv/bin/python}", {}));
  EXPECT_EQ(spec.model().python(), (folder_ / "venv/bin/python").string());
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
  EXPECT_THAT(ErrorOfOverride("dataset=/data/v #2"), HasSubstr("into quotes"));
  EXPECT_THAT(ErrorOfOverride("training.epochs=3\n---\n4"),
              HasSubstr("a second document"));
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
