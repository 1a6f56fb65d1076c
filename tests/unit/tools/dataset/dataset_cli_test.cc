#include "tools/fgnn/dataset/dataset_cli.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "shared/base/status.h"
#include "shared/graph/metadata.h"
#include "shared/graph/npy.h"
#include "tests/fakes/status_matchers.h"
#include "tests/fakes/temp_folder.h"

namespace fgnn {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

struct Outcome {
  absl::Status status;
  std::string out;
  std::string err;
};

// Runs "fgnn dataset ARGS…" as the program would.
Outcome RunDataset(std::vector<std::string> args, bool json = false) {
  Outcome outcome;
  CommandLine line("");
  AddDatasetCommands(line.root().AddSubcommand("dataset", ""), json,
                     outcome.status);
  args.insert(args.begin(), "dataset");
  testing::internal::CaptureStdout();
  testing::internal::CaptureStderr();
  const auto text = line.Parse(std::move(args));
  if (!text.ok()) outcome.status = text.status();
  outcome.out = testing::internal::GetCapturedStdout();
  outcome.err = testing::internal::GetCapturedStderr();
  return outcome;
}

std::vector<std::string> SmallSbmArgs(const std::string& out) {
  return {
      "generate",         "sbm", "--nodes",    "500", "--classes",      "4",
      "--average-degree", "6",   "--features", "8",   "--feature-type", "bf16",
      "--train-fraction", "0.2", "--seed",     "5",   "--homophily",    "0.9",
      "--feature-noise",  "0.3", "--out",      out};
}

// Returns what a command that succeeds prints with --json.
nlohmann::json JsonOf(std::vector<std::string> args) {
  const Outcome outcome = RunDataset(std::move(args), /*json=*/true);
  EXPECT_THAT(outcome.status, IsOk());
  return nlohmann::json::parse(outcome.out);
}

void WriteOneTrainVertex(const std::filesystem::path& folder) {
  auto writer = NpyWriter::Create(folder / "train.npy", NpyType::kI64, {});
  ASSERT_THAT(writer, IsOk());
  const int64_t vertex = 7;
  FGNN_ASSERT_OK(writer->Append(&vertex, sizeof(vertex)));
  FGNN_ASSERT_OK(writer->Close());
}

// A dataset of SmallSbmArgs().
class DatasetCliTest : public testing::Test {
 protected:
  const TempFolder folder_;
  const std::filesystem::path path_ = folder_ / "s";
  const std::string out_ = path_.string();
  const Outcome made_ = RunDataset(SmallSbmArgs(out_));
};

TEST_F(DatasetCliTest, GeneratesShowsAndValidatesInJson) {
  const std::string out = (folder_ / "j").string();
  const Outcome made = RunDataset(SmallSbmArgs(out), /*json=*/true);
  FGNN_ASSERT_OK(made.status);
  EXPECT_THAT(made.err, HasSubstr("edges: "));
  const auto summary = nlohmann::json::parse(made.out);
  EXPECT_EQ(summary["dataset"], out);
  EXPECT_EQ(summary["splits"]["train"], 100);

  const Outcome shown = RunDataset({"info", out}, /*json=*/true);
  FGNN_ASSERT_OK(shown.status);
  EXPECT_THAT(shown.err, IsEmpty());
  const auto info = nlohmann::json::parse(shown.out);
  EXPECT_EQ(info["num_nodes"], 500);
  EXPECT_EQ(info["num_edges"], summary["num_edges"]);
  EXPECT_EQ(info["feature_type"], "bf16");
  EXPECT_EQ(info["label_counts"], (std::vector<int>{125, 125, 125, 125}));
  EXPECT_EQ(info["splits"]["valid"], 200);
  EXPECT_GT(info["in_degree"]["max"], 6);

  EXPECT_EQ(JsonOf({"validate", out})["valid"], true);
}

TEST_F(DatasetCliTest, SpeaksToPeople) {
  EXPECT_THAT(made_.out, HasSubstr("made " + out_));
  EXPECT_THAT(
      RunDataset({"info", out_}).out,
      AllOf(HasSubstr("vertices   500\n"), HasSubstr("8 columns of bf16"),
            HasSubstr("4 classes"), HasSubstr("train 100")));
  EXPECT_THAT(RunDataset({"validate", out_}).out,
              AllOf(HasSubstr("features.npy: 500 x 8 bf16, all finite"),
                    HasSubstr(out_ + ": valid")));
}

TEST_F(DatasetCliTest, WarnsOfClassesWithoutATrainVertex) {
  FGNN_ASSERT_OK(made_.status);
  for (const char* command : {"info", "validate"}) {
    EXPECT_THAT(RunDataset({command, out_}).out, Not(HasSubstr("warning")));
  }
  DatasetMetadata metadata = ReadMetadata(out_).value();
  ++metadata.num_classes;
  std::ofstream(path_ / "metadata.yaml") << FormatMetadata(metadata);
  for (const char* command : {"info", "validate"}) {
    EXPECT_THAT(RunDataset({command, out_}).out,
                HasSubstr("no vertex of 1 of 5 classes (4)"));
  }
  EXPECT_EQ(JsonOf({"info", out_})["untrained_classes"], std::vector<int>{4});
}

// Replaces the labels of a dataset of SmallSbmArgs() by sets of three classes.
void LabelsToSets(const std::filesystem::path& folder) {
  DatasetMetadata metadata = ReadMetadata(folder).value();
  metadata.num_classes = 0;
  metadata.target_columns = 3;
  metadata.target_type = TargetType::kBits;
  std::filesystem::remove(folder / "labels.npy");
  std::ofstream(folder / "metadata.yaml") << FormatMetadata(metadata);
  std::ofstream(folder / "target_names.txt") << "a\nb\n";
  FGNN_ASSERT_OK_AND_ASSIGN(
      NpyWriter writer,
      NpyWriter::Create(folder / "targets.npy", NpyType::kU8, {3}));
  for (uint64_t v = 0; v < metadata.num_nodes; ++v) {
    const uint8_t row[] = {1, static_cast<uint8_t>(v % 5 == 0), v % 2 == 0};
    FGNN_ASSERT_OK(writer.Append(row, sizeof(row)));
  }
  FGNN_ASSERT_OK(writer.Close());
}

TEST_F(DatasetCliTest, SpeaksOfTargetsInThePlaceOfLabels) {
  FGNN_ASSERT_OK(made_.status);
  LabelsToSets(out_);
  const std::string split = (folder_ / "split").string();
  FGNN_ASSERT_OK(RunDataset({"split-edges", out_, "--out", split}).status);
  for (const std::string& dataset : {out_, split}) {
    EXPECT_THAT(RunDataset({"info", dataset}).out,
                AllOf(HasSubstr("targets    sets of 3 classes; largest: 0 a "
                                "(500), 2 (250), 1 b (100)"),
                      HasSubstr("without a label: 0"),
                      Not(HasSubstr("warning")), Not(HasSubstr("notice"))));
    EXPECT_THAT(RunDataset({"validate", dataset}).out,
                AllOf(HasSubstr("targets.npy: 500 x 3 u8, 0, 1 or 255"),
                      Not(HasSubstr("labels.npy"))));
  }
  const auto info = JsonOf({"info", out_});
  EXPECT_EQ(info["target_columns"], 3);
  EXPECT_EQ(info["target_type"], "u8");
  EXPECT_NEAR(info["targets"][1]["mean"].get<double>(), 0.2, 1e-9);
}

TEST_F(DatasetCliTest, SaysWhatLooksWrong) {
  FGNN_ASSERT_OK(made_.status);
  for (const char* command : {"info", "validate"}) {
    EXPECT_THAT(RunDataset({command, out_}).out, Not(HasSubstr("notice")));
    EXPECT_EQ(JsonOf({command, out_})["notices"], nlohmann::json::array());
  }
  DatasetMetadata metadata = ReadMetadata(out_).value();
  ++metadata.num_classes;
  std::ofstream(path_ / "metadata.yaml")
      << FormatMetadata(metadata) << "left_out: [edge_attr, year]\n";
  std::filesystem::copy_file(path_ / "train.npy", path_ / "edge_type.npy");
  std::filesystem::copy_file(path_ / "train.npy", path_ / "test.npy",
                             std::filesystem::copy_options::overwrite_existing);
  for (const char* command : {"info", "validate"}) {
    EXPECT_THAT(RunDataset({command, out_}).out,
                AllOf(HasSubstr("train.npy and test.npy share 100 vertices ("),
                      HasSubstr("labels.npy has no vertex of 1 of 5 classes "
                                "(4)"),
                      HasSubstr("left out edge_attr, year"),
                      HasSubstr("reads edge_type.npy")));
    EXPECT_EQ(JsonOf({command, out_})["notices"].size(), 4U);
  }
}

TEST_F(DatasetCliTest, AnswersABadFolderWithItsPlaceAndCodeTwo) {
  FGNN_ASSERT_OK(made_.status);
  {
    std::fstream file(path_ / "indices.npy",
                      std::ios::binary | std::ios::in | std::ios::out);
    file.seekp(-4, std::ios::end);
    const uint32_t bad = 3000;
    file.write(reinterpret_cast<const char*>(&bad), sizeof(bad));
  }
  for (const char* command : {"validate", "info"}) {
    const Outcome outcome = RunDataset({command, out_}, /*json=*/true);
    EXPECT_THAT(outcome.status,
                StatusIs(absl::StatusCode::kInvalidArgument,
                         AllOf(HasSubstr(out_ + "/indices.npy: element "),
                               HasSubstr(" is 3000, but the graph has 500 "
                                         "vertices; rebuild"))));
    EXPECT_EQ(ExitCode(outcome.status), 2);
    EXPECT_THAT(outcome.out, IsEmpty());
  }
}

TEST_F(DatasetCliTest, WarnsOfTestEdgesThatAreTrainedOn) {
  const std::string out = (folder_ / "split").string();
  FGNN_ASSERT_OK(RunDataset({"split-edges", out_, "--out", out}).status);
  for (const char* command : {"info", "validate"}) {
    EXPECT_THAT(RunDataset({command, out}).out, Not(HasSubstr("warning")));
  }
  std::filesystem::copy_file(folder_ / "split" / "train_edges.npy",
                             folder_ / "split" / "test_edges.npy",
                             std::filesystem::copy_options::overwrite_existing);
  for (const char* command : {"info", "validate"}) {
    EXPECT_THAT(RunDataset({command, out}).out,
                AllOf(HasSubstr("warning"),
                      HasSubstr("edges of test_edges.npy are trained on"),
                      Not(HasSubstr("edges of valid_edges.npy"))));
  }
  EXPECT_THAT(JsonOf({"validate", out})["warning"].get<std::string>(),
              HasSubstr("edges of test_edges.npy are trained on"));
}

TEST_F(DatasetCliTest, InfoLooksForDirectionsItself) {
  FGNN_ASSERT_OK(made_.status);
  for (const bool claim : {true, false}) {
    DatasetMetadata metadata = ReadMetadata(out_).value();
    metadata.symmetric = claim;
    std::ofstream(path_ / "metadata.yaml") << FormatMetadata(metadata);
    EXPECT_THAT(RunDataset({"info", out_}).out, HasSubstr(", symmetric\n"));
    EXPECT_EQ(JsonOf({"info", out_})["symmetric"], true);
  }
}

std::filesystem::path BookOf(const std::filesystem::path& dataset) {
  for (const auto& entry :
       std::filesystem::directory_iterator(dataset / "derived")) {
    if (entry.path().filename().string().starts_with("book-")) return entry;
  }
  return {};
}

TEST_F(DatasetCliTest, MakesABookAndShowsIt) {
  FGNN_ASSERT_OK(made_.status);
  EXPECT_TRUE(JsonOf({"info", out_})["book"].is_null());
  for (const std::vector<std::string>& words :
       {std::vector<std::string>{},
        {"--method", "stream"},
        {"--method", "random"},
        {"--balance", "work", "--work", "visits"}}) {
    std::vector<std::string> args = {"partition", out_};
    args.insert(args.end(), words.begin(), words.end());
    const nlohmann::json made = JsonOf(args);
    EXPECT_EQ(JsonOf(args)["book"], made["book"]);
    EXPECT_EQ(JsonOf({"info", out_})["book"], made["book"]);
    std::vector<int> owners;
    for (const auto& figures : made["book"]["owners"]) {
      owners.push_back(figures["owners"]);
      EXPECT_GT(figures["local_edges"], 0.05);
    }
    EXPECT_THAT(owners, testing::ElementsAre(2, 3, 4, 6, 8));
  }
  EXPECT_THAT(RunDataset({"info", out_}).out,
              AllOf(HasSubstr("book       64 fine parts, key "),
                    HasSubstr("  4 owners local edges "), HasSubstr("(skew ")));
}

TEST_F(DatasetCliTest, WarnsOfOwnersThatHaveNothing) {
  const std::string out = (folder_ / "t").string();
  FGNN_ASSERT_OK(RunDataset({"generate", "sbm", "--nodes", "5", "--classes",
                             "2", "--average-degree", "2", "--train-fraction",
                             "0.2", "--out", out})
                     .status);
  const Outcome made = RunDataset({"partition", out});
  FGNN_ASSERT_OK(made.status);
  EXPECT_THAT(made.out, HasSubstr("of 2 owners, without a train vertex: 1\n"));
  EXPECT_THAT(made.out, HasSubstr("of 6 owners, without a vertex: 1, "
                                  "without a train vertex: 5\n"));
}

TEST_F(DatasetCliTest, SaysThatABookIsDamaged) {
  FGNN_ASSERT_OK(RunDataset({"partition", out_, "--method", "random"}).status);
  const std::filesystem::path book = BookOf(path_);
  std::filesystem::resize_file(book, 100);
  const std::string damage = JsonOf({"info", out_})["book"]["damage"];
  EXPECT_THAT(damage,
              AllOf(HasSubstr(book.string() + " is damaged"),
                    HasSubstr("'fgnn dataset partition " + out_ + "'")));
  EXPECT_THAT(RunDataset({"info", out_}).out, HasSubstr(damage));
  FGNN_ASSERT_OK(RunDataset({"partition", out_, "--method", "random"}).status);
  EXPECT_FALSE(JsonOf({"info", out_})["book"].contains("damage"));
}

TEST_F(DatasetCliTest, RefusesWhatABookCannotBalance) {
  FGNN_ASSERT_OK(made_.status);
  EXPECT_THAT(
      RunDataset({"partition", out_, "--method", "random", "--work", "visits"})
          .status,
      InvalidArgument("drop --balance and --work"));
  std::filesystem::remove(path_ / "train.npy");
  EXPECT_THAT(RunDataset({"partition", out_, "--work", "visits"}).status,
              InvalidArgument(out_, "take --work degree"));
  FGNN_ASSERT_OK(RunDataset({"partition", out_}).status);
}

TEST_F(DatasetCliTest, RefusesWrongUse) {
  const TempFolder folder;
  const std::string out = (folder / "r").string();
  EXPECT_FALSE(RunDataset({"generate", "rmat", "--scale", "5"}).status.ok());
  EXPECT_FALSE(RunDataset({"generate"}).status.ok());
  EXPECT_FALSE(RunDataset({"info"}).status.ok());
  for (const char* const flag : {"--method", "--balance", "--work"}) {
    EXPECT_THAT(RunDataset({"partition", out_, flag, "none"}).status,
                InvalidArgument(flag));
  }
  EXPECT_FALSE(
      RunDataset({"generate", "rmat", "--feature-type", "f64", "--out", out})
          .status.ok());
  EXPECT_THAT(
      RunDataset({"generate", "rmat", "--scale", "40", "--out", out}).status,
      StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("--scale is 40")));
  EXPECT_TRUE(std::filesystem::is_empty(folder.path()));
}

TEST_F(DatasetCliTest, CutsAFolderForEachHostByTheBookThatIsThere) {
  FGNN_ASSERT_OK(RunDataset({"partition", out_, "--method", "random"}).status);
  const auto key = JsonOf({"info", out_})["book"]["key"];
  const std::string cut = (folder_ / "cut").string();
  const auto said = JsonOf({"partition", out_, "--hosts", "3", "--out", cut});
  EXPECT_EQ(said["book"], key);
  EXPECT_FALSE(said.contains("warning"));
  ASSERT_EQ(said["hosts"].size(), 3U);
  int rows = 0;
  for (int owner = 0; owner < 3; ++owner) {
    const std::string folder = cut + "/host" + std::to_string(owner);
    EXPECT_EQ(said["hosts"][owner]["folder"], folder);
    rows += said["hosts"][owner]["rows"].get<int>();
    const auto info = JsonOf({"info", folder});
    EXPECT_EQ(info["host_rows"]["owner"], owner);
    EXPECT_EQ(info["host_rows"]["book"], key);
    EXPECT_EQ(info["host_rows"]["rows"], said["hosts"][owner]["rows"]);
    EXPECT_THAT(RunDataset({"validate", folder}).out,
                HasSubstr("book.bin, features.npy: the rows of owner " +
                          std::to_string(owner) + " of 3"));
  }
  EXPECT_EQ(rows, 500);
  EXPECT_EQ(JsonOf({"info", out_})["host_rows"], nullptr);
  // METIS makes another book than chance.
  EXPECT_NE(JsonOf({"partition", out_, "--method", "metis", "--hosts", "3",
                    "--out", cut + "2"})["book"],
            key);
}

TEST_F(DatasetCliTest, WarnsOfHostsWithoutATrainVertex) {
  std::filesystem::remove(path_ / "train.npy");
  const auto cut = [&](const char* name) {
    return RunDataset({"partition", out_, "--method", "random", "--hosts", "2",
                       "--out", (folder_ / name).string()})
        .out;
  };
  EXPECT_THAT(cut("none"), Not(HasSubstr("warning")));
  WriteOneTrainVertex(path_);
  EXPECT_THAT(cut("one"), HasSubstr("warning: of 2 owners, without a train "
                                    "vertex: 1"));
}

}  // namespace
}  // namespace fgnn
