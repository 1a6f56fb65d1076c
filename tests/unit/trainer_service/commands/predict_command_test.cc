// Names of classes and columns on their way from a checkpoint to predictions.
#include "trainer_service/commands/predict_command.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "absl/strings/str_split.h"
#include "shared/base/files/file.h"
#include "shared/graph/npy.h"
#include "tests/fakes/status_matchers.h"
#include "tests/fakes/temp_folder.h"
#include "tests/unit/trainer_service/daemon/small_world.h"
#include "trainer_service/checkpoint/checkpoint.h"

namespace fgnn {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

namespace fs = std::filesystem;

class PredictCommandTest : public testing::Test {
 protected:
  PredictCommandTest() {
    options_.run = folder_ / "run";
    options_.dataset = folder_ / "data";
    WriteSmallDataset(folder_ / "data");
    fs::create_directories(options_.run / "checkpoints");
  }

  // Saves a model of the dataset's sizes as the run's best one.
  void SaveModel(const DatasetNames& names) {
    CheckpointInfo info;
    info.model.layers = 2;
    info.model.hidden = 8;
    info.model.input_columns = kSmallColumns;
    info.model.num_classes = kSmallClasses;
    info.names = names;
    std::vector<float> weights(NumParameters(info.model));
    for (size_t i = 0; i < weights.size(); ++i) {
      weights[i] = static_cast<float>(i * 37 % 101) / 101 - 0.5F;
    }
    FGNN_ASSERT_OK(WriteCheckpoint(checkpoint_, info, {weights, {}}));
  }
  void WriteText(const fs::path& path, const std::string& text) {
    std::ofstream(path, std::ios::binary) << text;
  }
  // Returns the fields of each line of the predictions, without the heading.
  std::vector<std::vector<std::string>> Predict() {
    options_.out = folder_ / "out.csv";
    absl::StatusOr<PredictSummary> summary = RunPredict(options_);
    if (!summary.ok()) ADD_FAILURE() << summary.status();
    if (!summary.ok()) return {};
    summary_ = *std::move(summary);
    std::vector<std::vector<std::string>> rows;
    for (const auto line : absl::StrSplit(*ReadSmallFile(options_.out), '\n',
                                          absl::SkipEmpty())) {
      rows.push_back(absl::StrSplit(line, ','));
    }
    EXPECT_EQ(rows.size(), kSmallNodes + 1);
    rows.erase(rows.begin());
    return rows;
  }

  const TempFolder folder_;
  const fs::path class_names_ = folder_ / "data" / "class_names.txt";
  const fs::path checkpoint_ =
      folder_ / "run" / "checkpoints" / "best.safetensors";
  PredictOptions options_;
  PredictSummary summary_;
};

TEST_F(PredictCommandTest, ClassesAreNumberedAsInTheDataset) {
  SaveModel({{"ant", "bee", "cat"}, {}});
  const auto plain = Predict();
  EXPECT_THAT(summary_.notice, HasSubstr("has no names of its classes"));
  WriteText(class_names_, "ant\nbee\ncat\n");
  EXPECT_EQ(Predict(), plain);
  EXPECT_THAT(summary_.notice, IsEmpty());

  WriteText(class_names_, "cat\nant\n");
  const auto mapped = Predict();
  ASSERT_EQ(mapped.size(), plain.size());
  for (size_t v = 0; v < plain.size(); ++v) {
    const std::string& name = plain[v][4];
    EXPECT_EQ(plain[v][2], name == "ant" ? "0" : name == "bee" ? "1" : "2");
    EXPECT_EQ(mapped[v][2], name == "ant" ? "1" : name == "bee" ? "-1" : "0");
    EXPECT_EQ(mapped[v][4], name);
  }
  EXPECT_THAT(summary_.notice, HasSubstr("(bee)"));
  const auto json = nlohmann::json::parse(summary_.ToJson());
  EXPECT_EQ(json["notice"], summary_.notice);
  EXPECT_EQ(json["class_names"],
            (std::vector<std::string>{"ant", "bee", "cat"}));

  options_.out = folder_ / "out.npy";
  FGNN_ASSERT_OK(RunPredict(options_));
  FGNN_ASSERT_OK_AND_ASSIGN(const NpyArray array, NpyArray::Open(options_.out));
  for (size_t v = 0; v < mapped.size(); ++v) {
    EXPECT_EQ(std::to_string(array.As<int64_t>()[v]), mapped[v][2]);
  }
}

TEST_F(PredictCommandTest, ProbabilitiesKeepTheOrderOfTheModelAndSaySo) {
  SaveModel({{"ant", "bee", "cat"}, {}});
  WriteText(class_names_, "cat\nbee\nant\n");
  options_.what = "probabilities";
  options_.out = folder_ / "out.npy";
  FGNN_ASSERT_OK_AND_ASSIGN(const PredictSummary summary, RunPredict(options_));
  EXPECT_THAT(summary.notice, HasSubstr("in an order that is not that of"));
  EXPECT_THAT(summary.class_names, testing::ElementsAre("ant", "bee", "cat"));
}

TEST_F(PredictCommandTest, AnEarlierRunGetsNamesFromItsFolder) {
  SaveModel({});
  EXPECT_THAT(
      *ReadSmallFile(checkpoint_),
      AllOf(Not(HasSubstr("class_names")), Not(HasSubstr("feature_names"))));
  const auto plain = Predict();
  EXPECT_EQ(plain[0][4], "");
  EXPECT_THAT(summary_.notice, IsEmpty());
  EXPECT_THAT(summary_.class_names, IsEmpty());

  WriteText(options_.run / "class_names.txt", "ant\nbee\ncat\n");
  WriteText(class_names_, "cat\nbee\nant\n");
  const auto mapped = Predict();
  for (size_t v = 0; v < plain.size(); ++v) {
    EXPECT_EQ(std::stoi(plain[v][2]) + std::stoi(mapped[v][2]), 2);
  }
}

TEST_F(PredictCommandTest, RefusesWhatItCannotMap) {
  SaveModel({{"ant", "bee", "cat"}, {"a", "b", "c", "d", "e", "f"}});
  WriteText(class_names_, "cow\nhen\n");
  options_.out = folder_ / "out.csv";
  EXPECT_THAT(RunPredict(options_),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("no class of the model")));
  WriteText(folder_ / "data" / "feature_names.txt", "a\nb\nd\nc\ne\nf\n");
  EXPECT_THAT(RunPredict(options_), StatusIs(absl::StatusCode::kInvalidArgument,
                                             HasSubstr("feature column 2")));
  EXPECT_FALSE(fs::exists(options_.out));
}

}  // namespace
}  // namespace fgnn
