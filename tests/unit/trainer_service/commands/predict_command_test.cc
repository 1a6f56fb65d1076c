// What a file of predictions says, and which predictions are refused.
#include "trainer_service/commands/predict_command.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "shared/base/files/file.h"
#include "shared/graph/npy.h"
#include "tests/fakes/status_matchers.h"
#include "tests/fakes/temp_folder.h"
#include "tests/unit/trainer_service/daemon/small_world.h"
#include "tests/unit/trainer_service/infer/host_device.h"
#include "trainer_service/checkpoint/checkpoint.h"
#include "trainer_service/commands/predict_flags.h"
#include "trainer_service/nn/cpu/cpu_model.h"

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
  std::vector<std::vector<std::string>> Predict(size_t lines = kSmallNodes) {
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
    EXPECT_EQ(rows.size(), lines + 1);
    heading_ = absl::StrJoin(rows[0], ",");
    rows.erase(rows.begin());
    return rows;
  }

  const TempFolder folder_;
  const fs::path class_names_ = folder_ / "data" / "class_names.txt";
  const fs::path checkpoint_ =
      folder_ / "run" / "checkpoints" / "best.safetensors";
  PredictOptions options_;
  PredictSummary summary_;
  std::string heading_;
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

TEST_F(PredictCommandTest, AModelWithoutNamesGetsThoseInItsRunsFolder) {
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

TEST_F(PredictCommandTest, LabelsAndSplitsStandBesideTheClasses) {
  SaveModel({});
  const auto rows = Predict();
  EXPECT_EQ(heading_,
            "id,name,class,probability,class_name,label,label_name,split");
  std::map<std::string, std::pair<uint64_t, uint64_t>> counts;
  for (size_t v = 0; v < rows.size(); ++v) {
    const std::string split =
        v % 2 == 0 ? "train" : (v % 4 == 1 ? "valid" : "test");
    EXPECT_EQ(rows[v][5], std::to_string(v % kSmallClasses));
    EXPECT_EQ(rows[v][6], "");
    EXPECT_EQ(rows[v][7], split);
    ++counts[split].first;
    counts[split].second += rows[v][2] == rows[v][5] ? 1 : 0;
  }
  ASSERT_EQ(summary_.matches.splits.size(), 3U);
  for (const auto& [split, count] : summary_.matches.splits) {
    EXPECT_EQ(count.labelled, counts[split].first) << split;
    EXPECT_EQ(count.matching, counts[split].second) << split;
  }
  EXPECT_FALSE(summary_.matches.names.has_value());
  EXPECT_THAT(summary_.ToText(),
              HasSubstr(absl::StrCat("(", counts["test"].second, " of 30)")));
}

TEST_F(PredictCommandTest, VerticesOfTwoKindsAreNamedByKindAndId) {
  SaveModel({});
  const auto plain = Predict();
  std::string names;
  for (uint32_t v = 0; v < kSmallNodes; ++v) {
    absl::StrAppend(&names, v % 2 == 0 ? "user:" : "movie:", v / 2, "\n");
  }
  WriteText(folder_ / "data" / "names.txt", names);
  const fs::path metadata = folder_ / "data" / "metadata.yaml";
  WriteText(metadata, *ReadSmallFile(metadata) + "kinds: [user, movie]\n");
  options_.vertices = folder_ / "chosen.txt";
  WriteText(options_.vertices, "movie:5\nuser:0\n");
  const auto rows = Predict(/*lines=*/2);
  EXPECT_EQ(heading_,
            "vertex,kind,id,class,probability,class_name,label,label_name,"
            "split");
  std::vector<std::string> movie = {"11", "movie", "5"};
  movie.insert(movie.end(), plain[11].begin() + 2, plain[11].end());
  EXPECT_EQ(rows[0], movie);
  EXPECT_EQ(rows[1][1] + rows[1][2], "user0");

  WriteText(options_.vertices, "user:0\n5\n");
  EXPECT_THAT(RunPredict(options_),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       AllOf(HasSubstr("line 2 is '5'"), HasSubstr("user:5"),
                             HasSubstr("movie:5"))));
}

TEST_F(PredictCommandTest, WhatTheDatasetHasNotHasNoColumn) {
  SaveModel({});
  for (const char* split : {"valid.npy", "test.npy"}) {
    fs::remove(folder_ / "data" / split);
  }
  const auto rows = Predict();
  ASSERT_THAT(rows[1], testing::SizeIs(8));
  EXPECT_EQ(rows[1][7], "");
  ASSERT_EQ(summary_.matches.splits.size(), 2U);
  EXPECT_EQ(summary_.matches.splits[1].split, "");
  EXPECT_EQ(summary_.matches.splits[1].count.labelled, 60U);
  EXPECT_THAT(summary_.ToText(), HasSubstr(", no split "));

  for (const char* file : {"train.npy", "labels.npy"}) {
    fs::remove(folder_ / "data" / file);
  }
  const fs::path metadata = folder_ / "data" / "metadata.yaml";
  WriteText(metadata,
            absl::StrReplaceAll(*ReadSmallFile(metadata),
                                {{"num_classes: 3", "num_classes: 0"}}));
  Predict();
  EXPECT_EQ(heading_, "id,name,class,probability,class_name");
  EXPECT_THAT(summary_.matches.splits, IsEmpty());
  EXPECT_THAT(summary_.ToText(), Not(HasSubstr("accuracy")));
}

TEST_F(PredictCommandTest, ClassesThatAreNamedAsTheLabelsAreCounted) {
  SaveModel({{"ant", "bee", "cat"}, {}});
  WriteText(class_names_, "cat\nant\ncow\n");
  const std::vector<std::string> names = {"cat", "ant", "cow"};
  uint64_t matching = 0;
  for (const auto& row : Predict()) {
    EXPECT_EQ(row[6], names[static_cast<size_t>(std::stoi(row[5]))]);
    matching += row[4] == row[6] ? 1 : 0;
  }
  ASSERT_TRUE(summary_.matches.names.has_value());
  EXPECT_EQ(summary_.matches.names->labelled, kSmallNodes);
  EXPECT_EQ(summary_.matches.names->matching, matching);
  const auto json = nlohmann::json::parse(summary_.ToJson());
  EXPECT_EQ(json["names"]["matching"], matching);
}

TEST_F(PredictCommandTest, TheBestClassesHaveColumnsOfTheirOwn) {
  SaveModel({{"ant", "bee", "cat"}, {}});
  const auto best = Predict();
  options_.top_k = 2;
  const auto rows = Predict();
  EXPECT_THAT(heading_,
              testing::EndsWith(",split,class_2,probability_2,class_name_2"));
  options_.out = folder_ / "rows.npy";
  FGNN_ASSERT_OK(RunPredict(options_));
  FGNN_ASSERT_OK_AND_ASSIGN(const NpyArray classes,
                            NpyArray::Open(options_.out));
  EXPECT_THAT(classes.header().shape, testing::ElementsAre(kSmallNodes, 2));
  options_.top_k.reset();
  options_.what = "probabilities";
  FGNN_ASSERT_OK(RunPredict(options_));
  FGNN_ASSERT_OK_AND_ASSIGN(const NpyArray array, NpyArray::Open(options_.out));
  const absl::Span<const float> all = array.As<float>();
  for (size_t v = 0; v < rows.size(); ++v) {
    const std::vector<std::string> beginning(rows[v].begin(),
                                             rows[v].begin() + 8);
    EXPECT_EQ(beginning, best[v]);
    std::vector<float> of_vertex(
        all.begin() + 3 * static_cast<ptrdiff_t>(v),
        all.begin() + 3 * static_cast<ptrdiff_t>(v) + 3);
    EXPECT_EQ(std::to_string(classes.As<int64_t>()[2 * v + 1]), rows[v][8]);
    EXPECT_NEAR(of_vertex[static_cast<size_t>(std::stoi(rows[v][8]))],
                std::stof(rows[v][9]), 1e-6);
    std::sort(of_vertex.begin(), of_vertex.end());
    EXPECT_NEAR(of_vertex[1], std::stof(rows[v][9]), 1e-6);
  }
}

TEST_F(PredictCommandTest, ChosenVerticesKeepTheOrderOfTheirFile) {
  SaveModel({});
  const auto all = Predict();
  options_.vertices = folder_ / "ids.txt";
  WriteText(options_.vertices, "7\n119\n7\n0\n");
  const auto rows = Predict(4);
  EXPECT_THAT(rows, testing::ElementsAre(all[7], all[119], all[7], all[0]));
  EXPECT_EQ(summary_.num_vertices, 4U);
  EXPECT_EQ(summary_.matches.splits[0].count.labelled, 1U);

  WriteText(options_.vertices, "7\n120\n");
  fs::remove(options_.out);
  EXPECT_THAT(RunPredict(options_),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       AllOf(HasSubstr("ids.txt: line 2 is '120'"),
                             HasSubstr("[0, 120)"))));
  EXPECT_FALSE(fs::exists(options_.out));
}

TEST_F(PredictCommandTest, ComputesOnTheGpuThatIsNamed) {
  SaveModel({});
  const auto expected = Predict();
  std::unique_ptr<Model> model;
  absl::Status fails_with;
  options_.device = "cuda:1";
  options_.open_device = [&](int device, const ModelOptions& options,
                             ThreadTeam* team)
      -> absl::StatusOr<std::unique_ptr<InferenceDevice>> {
    EXPECT_EQ(device, 1);
    model = MakeCpuModel(options, team).value();
    auto gpu = std::make_unique<HostDevice>(model.get(), 1000);
    gpu->fails_with = fails_with;
    return gpu;
  };
  EXPECT_EQ(Predict(), expected);
  EXPECT_NE(model, nullptr);
  fails_with = absl::InternalError("the GPU is lost");
  EXPECT_THAT(RunPredict(options_), StatusIs(absl::StatusCode::kInternal,
                                             HasSubstr("the GPU is lost")));
  options_.open_device =
      [](int, const ModelOptions&,
         ThreadTeam*) -> absl::StatusOr<std::unique_ptr<InferenceDevice>> {
    return absl::FailedPreconditionError("cuda:1 is not there");
  };
  EXPECT_THAT(RunPredict(options_),
              StatusIs(absl::StatusCode::kNotFound,
                       HasSubstr("--device: cuda:1 is not there")));
}

TEST_F(PredictCommandTest, RefusesMoreClassesThanThereAre) {
  SaveModel({});
  options_.out = folder_ / "out.npy";
  for (const uint32_t top_k : {0U, 4U}) {
    options_.top_k = top_k;
    EXPECT_THAT(RunPredict(options_),
                StatusIs(absl::StatusCode::kInvalidArgument,
                         AllOf(HasSubstr("the model has 3 classes"),
                               HasSubstr("in [1, 3]"))));
  }
  options_.what = "embeddings";
  EXPECT_THAT(RunPredict(options_), StatusIs(absl::StatusCode::kInvalidArgument,
                                             HasSubstr("--top-k is for")));
}

TEST(CheckPredictFlagsTest, FlagsOfLinksFitLinksAlone) {
  ModelOptions links;
  links.objective = Objective::kLinks;
  ModelOptions classes;
  classes.num_classes = 4;
  const auto check = [](const ModelOptions& model, const char* what,
                        const char* pairs, const char* vertices,
                        std::optional<uint32_t> top_k) {
    PredictOptions options;
    options.what = what;
    options.pairs = pairs;
    options.vertices = vertices;
    options.top_k = top_k;
    return CheckPredictFlags(options, *PredictionKindOf(what), model);
  };
  const auto refused = [](const char* words) {
    return StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr(words));
  };
  EXPECT_THAT(check(links, "scores", "p", "", {}), IsOk());
  EXPECT_THAT(check(links, "neighbours", "", "v", 40), IsOk());
  EXPECT_THAT(check(links, "embeddings", "", "v", {}), IsOk());
  EXPECT_THAT(check(links, "scores", "", "", {}), refused("with --pairs"));
  EXPECT_THAT(check(links, "scores", "p", "v", {}),
              refused("--vertices is not for"));
  EXPECT_THAT(check(links, "scores", "p", "", 2), refused("--top-k is for"));
  EXPECT_THAT(check(links, "neighbours", "p", "", {}),
              refused("--pairs is for --what scores"));
  EXPECT_THAT(check(links, "neighbours", "", "", 0), refused("1 or more"));
  EXPECT_THAT(check(links, "classes", "", "", {}),
              refused("--what embeddings, scores or neighbours"));
  EXPECT_THAT(check(classes, "scores", "p", "", {}), refused("no pairs"));
  EXPECT_THAT(check(classes, "neighbours", "", "", {}), refused("no pairs"));
}

}  // namespace
}  // namespace fgnn
