// What a file of predicted numbers, or sets of classes, says.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "shared/base/files/file.h"
#include "shared/graph/dataset.h"
#include "shared/graph/npy.h"
#include "tests/fakes/status_matchers.h"
#include "tests/fakes/temp_folder.h"
#include "tests/unit/trainer_service/daemon/small_world.h"
#include "trainer_service/checkpoint/checkpoint.h"
#include "trainer_service/commands/predict_command.h"

namespace fgnn {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::SizeIs;

namespace fs = std::filesystem;

using Rows = std::vector<std::vector<std::string>>;
using Numbers = std::vector<std::array<float, kSmallClasses>>;

class PredictTargetsTest : public testing::Test {
 protected:
  PredictTargetsTest() {
    options_.run = folder_ / "run";
    options_.dataset = data_;
    fs::create_directories(options_.run / "checkpoints");
  }

  // Saves a model with so many columns of targets as the run's best one.
  void SaveModel(Objective objective, std::vector<std::string> names,
                 uint32_t columns = kSmallClasses) {
    CheckpointInfo info;
    info.model.layers = 2;
    info.model.hidden = 8;
    info.model.input_columns = kSmallColumns;
    info.model.objective = objective;
    info.model.num_classes = columns;
    info.names.targets = std::move(names);
    std::vector<float> weights(NumParameters(info.model));
    for (size_t i = 0; i < weights.size(); ++i) {
      weights[i] = static_cast<float>(i * 37 % 101) / 101 - 0.5F;
    }
    FGNN_ASSERT_OK(
        WriteCheckpoint(options_.run / "checkpoints" / "best.safetensors", info,
                        {weights, {}}));
  }
  // Writes the dataset, and the names of its targets.
  void WriteData(Objective objective, const std::string& names) {
    fs::remove_all(data_);
    WriteSmallDataset(data_, /*broken=*/false, objective);
    if (!names.empty()) std::ofstream(data_ / "target_names.txt") << names;
  }

  absl::StatusOr<PredictSummary> Run(const char* out) {
    options_.out = folder_ / out;
    return RunPredict(options_);
  }
  // Returns the fields of each line of the predictions, without the heading.
  Rows Predict() {
    absl::StatusOr<PredictSummary> summary = Run("out.csv");
    if (!summary.ok()) ADD_FAILURE() << summary.status();
    if (!summary.ok()) return {};
    summary_ = *std::move(summary);
    Rows rows;
    for (const auto line : absl::StrSplit(*ReadSmallFile(options_.out), '\n',
                                          absl::SkipEmpty())) {
      rows.push_back(absl::StrSplit(line, ','));
    }
    heading_ = absl::StrJoin(rows[0], ",");
    rows.erase(rows.begin());
    EXPECT_THAT(rows, SizeIs(kSmallNodes));
    return rows;
  }
  // Returns the array that is written in the place of the table.
  Numbers PredictArray() {
    EXPECT_THAT(Run("out.npy"), IsOk());
    const auto array = NpyArray::Open(options_.out);
    if (!array.ok()) ADD_FAILURE() << array.status();
    if (!array.ok()) return {};
    EXPECT_THAT(array->header().shape, ElementsAre(kSmallNodes, kSmallClasses));
    return Table(array->As<float>());
  }
  Numbers Targets() const {
    const Dataset dataset =
        Dataset::Open(data_, Validation::kStructure).value();
    Numbers rows(kSmallNodes);
    for (uint32_t v = 0; v < kSmallNodes; ++v) {
      dataset.targets().Read(v, rows[v].data());
    }
    return rows;
  }
  static Numbers Table(absl::Span<const float> values) {
    Numbers rows(values.size() / kSmallClasses);
    for (size_t i = 0; i < values.size(); ++i) {
      rows[i / kSmallClasses][i % kSmallClasses] = values[i];
    }
    return rows;
  }

  const TempFolder folder_;
  const fs::path data_ = folder_ / "data";
  PredictOptions options_;
  PredictSummary summary_;
  std::string heading_;
};

std::string SplitOf(size_t v) {
  return v % 2 == 0 ? "train" : (v % 4 == 1 ? "valid" : "test");
}

TEST_F(PredictTargetsTest, NumbersStandBesideTheirTargets) {
  WriteData(Objective::kValues, "");
  SaveModel(Objective::kValues, {"area"});
  const Numbers values = PredictArray();
  const Numbers targets = Targets();
  const Rows rows = Predict();
  EXPECT_EQ(heading_,
            "id,name,area,value_2,value_3,split,target_area,target_value_2,"
            "target_value_3");
  EXPECT_THAT(summary_.notice, HasSubstr("has no names of its targets"));
  std::map<std::string, std::array<double, kSmallClasses>> squares;
  std::map<std::string, double> distances;
  for (size_t v = 0; v < rows.size(); ++v) {
    EXPECT_EQ(rows[v][0], std::to_string(v));
    EXPECT_EQ(rows[v][5], SplitOf(v));
    for (size_t c = 0; c < kSmallClasses; ++c) {
      EXPECT_EQ(std::stof(rows[v][2 + c]), values[v][c]);
      EXPECT_EQ(std::stof(rows[v][6 + c]), targets[v][c]);
      const double distance = double{values[v][c]} - double{targets[v][c]};
      squares[SplitOf(v)][c] += distance * distance;
      distances[SplitOf(v)] += std::abs(distance);
    }
  }
  ASSERT_THAT(summary_.target_scores, SizeIs(3));
  for (const TargetScores& of_split : summary_.target_scores) {
    const auto count = static_cast<double>(of_split.vertices);
    EXPECT_EQ(count, of_split.split == "train" ? 60 : 30);
    double rmse = 0;
    for (const double sum : squares[of_split.split]) {
      rmse += std::sqrt(sum / count) / kSmallClasses;
    }
    EXPECT_NEAR(of_split.scores.rmse.value(), rmse, 1e-9);
    EXPECT_NEAR(of_split.scores.mae.value(),
                distances[of_split.split] / count / kSmallClasses, 1e-9);
  }
  EXPECT_THAT(summary_.ToText(),
              AllOf(HasSubstr("predicted values of 120 vertices"),
                    HasSubstr("\nRMSE: train "), HasSubstr(", 30 vertices)")));
  const auto json = nlohmann::json::parse(summary_.ToJson());
  EXPECT_EQ(json["what"], "values");
  EXPECT_EQ(json["targets"], 3);
  EXPECT_EQ(json["target_names"][0], "area");
  EXPECT_EQ(json["splits"][2]["split"], "test");
  EXPECT_EQ(json["splits"][2]["rmse"],
            summary_.target_scores[2].scores.rmse.value());
}

TEST_F(PredictTargetsTest, TargetsAreFoundByTheirNames) {
  WriteData(Objective::kValues, "c\na\nx\n");
  SaveModel(Objective::kValues, {"a", "b", "c"});
  const Numbers targets = Targets();
  const Rows rows = Predict();
  EXPECT_EQ(heading_, "id,name,a,b,c,split,target_a,target_c");
  for (size_t v = 0; v < rows.size(); ++v) {
    EXPECT_EQ(std::stof(rows[v][6]), targets[v][1]);
    EXPECT_EQ(std::stof(rows[v][7]), targets[v][0]);
  }
  EXPECT_THAT(summary_.notice,
              AllOf(HasSubstr("targets are found in dataset"),
                    HasSubstr("(b), of which it states nothing")));
}

TEST_F(PredictTargetsTest, SetsAreNamesBesideTheTrueOnes) {
  WriteData(Objective::kLabelSets, "ant\nbee\ncat\n");
  SaveModel(Objective::kLabelSets, {"ant", "bee", "cat"});
  const std::vector<std::string> names = {"ant", "bee", "cat"};
  const Numbers probabilities = PredictArray();
  const Numbers truth = Targets();
  const Rows rows = Predict();
  EXPECT_EQ(heading_,
            "id,name,classes,probability_ant,probability_bee,probability_cat,"
            "labels,split");
  std::map<std::string, std::array<uint64_t, 2>> counts;  // Right, and named.
  for (size_t v = 0; v < rows.size(); ++v) {
    std::vector<std::string> predicted;
    std::vector<std::string> labels;
    for (size_t c = 0; c < kSmallClasses; ++c) {
      const bool is_predicted = probabilities[v][c] > 0.5F;
      const bool is_true = truth[v][c] == 1;
      if (is_predicted) predicted.push_back(names[c]);
      if (is_true) labels.push_back(names[c]);
      EXPECT_NEAR(std::stof(rows[v][3 + c]), probabilities[v][c], 1e-6);
      counts[SplitOf(v)][0] += is_predicted && is_true ? 1 : 0;
      counts[SplitOf(v)][1] += (is_predicted ? 1 : 0) + (is_true ? 1 : 0);
    }
    EXPECT_EQ(rows[v][2], absl::StrJoin(predicted, ";"));
    EXPECT_EQ(rows[v][6], absl::StrJoin(labels, ";"));
    EXPECT_EQ(rows[v][7], SplitOf(v));
  }
  ASSERT_THAT(summary_.target_scores, SizeIs(3));
  for (const TargetScores& of_split : summary_.target_scores) {
    const auto& [right, named] = counts[of_split.split];
    EXPECT_DOUBLE_EQ(
        of_split.scores.micro_f1.value(),
        2.0 * static_cast<double>(right) / static_cast<double>(named));
  }
  EXPECT_THAT(summary_.ToText(), HasSubstr("\nmicro-F1: train "));
  EXPECT_THAT(summary_.class_names, ElementsAre("ant", "bee", "cat"));
  options_.what = "probabilities";
  EXPECT_EQ(PredictArray(), probabilities);
}

TEST_F(PredictTargetsTest, ClassesOfSetsWithoutNamesAreNumbers) {
  WriteData(Objective::kLabelSets, "");
  SaveModel(Objective::kLabelSets, {});
  const Numbers truth = Targets();
  const Rows rows = Predict();
  EXPECT_THAT(heading_, HasSubstr(",probability_0,probability_1,"));
  for (size_t v = 0; v < rows.size(); ++v) {
    std::vector<std::string> labels;
    for (size_t c = 0; c < kSmallClasses; ++c) {
      if (truth[v][c] == 1) labels.push_back(std::to_string(c));
    }
    EXPECT_EQ(rows[v][6], absl::StrJoin(labels, ";"));
  }
}

TEST_F(PredictTargetsTest, WhatTheDatasetHasNotHasNoColumn) {
  SaveModel(Objective::kValues, {});
  for (const Objective other : {Objective::kClasses, Objective::kLabelSets}) {
    WriteData(other, "");
    Predict();
    EXPECT_EQ(heading_, "id,name,value_1,value_2,value_3,split");
    EXPECT_THAT(summary_.target_scores, IsEmpty());
    EXPECT_THAT(summary_.ToText(), Not(HasSubstr("RMSE")));
  }
}

TEST_F(PredictTargetsTest, AVertexWithoutTargetsHasEmptyOnes) {
  WriteData(Objective::kValues, "");
  SaveModel(Objective::kValues, {});
  fs::remove(data_ / "test.npy");
  std::fstream file(data_ / "targets.npy",
                    std::ios::in | std::ios::out | std::ios::binary);
  const float none = NAN;
  // The first number of vertex 3, which is in no split now.
  file.seekp(-static_cast<std::streamoff>((kSmallNodes - 3) * kSmallClasses *
                                          sizeof(float)),
             std::ios::end);
  file.write(reinterpret_cast<const char*>(&none), sizeof(none));
  file.close();
  const Rows rows = Predict();
  EXPECT_EQ(rows[3][5], "");
  EXPECT_EQ(rows[3][6], "");
  EXPECT_NE(rows[3][7], "");
  ASSERT_THAT(summary_.target_scores, SizeIs(3));
  EXPECT_EQ(summary_.target_scores[2].split, "");
  EXPECT_EQ(summary_.target_scores[2].vertices, 29U);
}

TEST_F(PredictTargetsTest, RefusesWhatDoesNotFit) {
  WriteData(Objective::kValues, "x\ny\n");
  const auto refused = [](const char* words) {
    return StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr(words));
  };
  SaveModel(Objective::kValues, {"a", "b", "c"});
  EXPECT_THAT(Run("out.csv"), refused("no target of the model (a, b, c)"));
  SaveModel(Objective::kValues, {}, /*columns=*/2);
  EXPECT_THAT(Run("out.csv"), refused("the model has 2 targets and dataset"));
  options_.top_k = 2;
  EXPECT_THAT(Run("out.csv"), refused("with a model of node_regression"));
  options_.top_k.reset();
  options_.what = "classes";
  EXPECT_THAT(Run("out.csv"),
              refused("knows no classes; use --what embeddings or values"));
  options_.what = "values";
  EXPECT_THAT(Run("out.txt"), refused("end it in .npy"));
  SaveModel(Objective::kLabelSets, {});
  EXPECT_THAT(Run("out.csv"), refused("knows no numbers"));
  EXPECT_FALSE(fs::exists(folder_ / "out.csv"));
}

}  // namespace
}  // namespace fgnn
