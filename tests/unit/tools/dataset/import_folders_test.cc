// OGB's and GraphBolt's folders, and the command line of all kinds.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "shared/command_line/command_line.h"
#include "tests/fakes/status_matchers.h"
#include "tests/unit/tools/dataset/import_fixture.h"
#include "tools/dataset/importing/import.h"
#include "tools/fgnn/dataset/import_cli.h"

namespace fgnn {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

class ImportOgbTest : public ImportTest {
 protected:
  ImportOgbTest() {
    source_.folder = folder_ / "in";
    WriteGz("in/split/time/train.csv.gz", "0\n");
    WriteGz("in/split/time/valid.csv.gz", "2\n");
    WriteGz("in/split/time/test.csv.gz", "");
  }
  void WriteText() {
    WriteGz("in/raw/edge.csv.gz", "0,1\n2,1\n");
    WriteGz("in/raw/num-node-list.csv.gz", "3\n");
    WriteGz("in/raw/node-feat.csv.gz", "0.5,-1e-3\n1,2\n3,4\n");
    WriteGz("in/raw/node-label.csv.gz", "1.0\n\"\"\n0\n");
  }
  absl::StatusOr<ImportSummary> Import() { return From(ImportOgb, source_); }
  void ExpectError(const std::string& message) {
    EXPECT_THAT(Import().status().message(), HasSubstr(message));
    EXPECT_TRUE(NothingLeft());
  }
  OgbSource source_;
};

TEST_F(ImportOgbTest, ReadsTextFiles) {
  WriteText();

  const ImportSummary summary = Taken(Import());

  EXPECT_EQ(summary.num_nodes, 3U);
  EXPECT_THAT(InNeighbors(1), ElementsAre(0, 2));
  EXPECT_THAT(Features(0), ElementsAre(0.5F, -1e-3F));
  EXPECT_THAT(ToVector(Out().labels()), ElementsAre(1, -1, 0));
  EXPECT_THAT(ToVector(Out().valid()), ElementsAre(2));
  EXPECT_EQ(summary.num_test, 0U);
}

TEST_F(ImportOgbTest, ReadsTheBinaryForm) {
  WriteNpz("in/raw/data.npz",
           {{"edge_index", Npy<int64_t>({2, 2}, {0, 2, 1, 1})},
            {"node_feat", Npy<float>({3, 1}, {7, 8, 9})},
            {"num_nodes_list", Npy<int64_t>({3})},
            {"num_edges_list", Npy<int64_t>({2})}});
  WriteNpz("in/raw/node-label.npz",
           {{"node_label", Npy<float>({3, 1}, {1, NAN, 0})}});

  FGNN_ASSERT_OK(Import());

  EXPECT_THAT(InNeighbors(1), ElementsAre(0, 2));
  EXPECT_THAT(Features(2), ElementsAre(9));
  EXPECT_THAT(ToVector(Out().labels()), ElementsAre(1, -1, 0));
}

TEST_F(ImportOgbTest, OneOfSeveralLabelsAndSplitsIsChosen) {
  WriteText();
  WriteGz("in/raw/node-label.csv.gz", "1,0\n1,1\n0,2\n");
  source_.label_column = 2;
  ExpectError("2 labels a vertex; choose one with --label-column");
  WriteGz("in/split/other/train.csv.gz", "1\n");
  WriteGz("in/split/other/valid.csv.gz", "1\n");
  WriteGz("in/split/other/test.csv.gz", "1\n");
  source_.label_column = 1;
  ExpectError("choose one with --split");
  source_.split = "random";
  ExpectError("random: is not there");
  source_.split = "other";
  FGNN_ASSERT_OK(Import());
  EXPECT_THAT(ToVector(Out().labels()), ElementsAre(0, 1, 2));
  EXPECT_THAT(ToVector(Out().train()), ElementsAre(1));
}

TEST_F(ImportOgbTest, BadFilesAreNamed) {
  ExpectError("num-node-list.csv.gz: is not there");
  WriteText();
  WriteGz("in/raw/edge.csv.gz", "0,1\n0,3\n");
  ExpectError("edge.csv.gz:2: vertex 3 where num-node-list says 3");
  WriteGz("in/raw/edge.csv.gz", "0,1\n0,x\n");
  ExpectError("edge.csv.gz:2: field 2, 'x', is not an integer");
  WriteText();
  WriteGz("in/raw/node-feat.csv.gz", "0\n1\n");
  ExpectError("features of 2 vertices, but the graph has 3");
  WriteGz("in/raw/node-feat.csv.gz", "0\n1\nnan\n");
  ExpectError(
      "node-feat.csv.gz: feature column 0 of vertex 2 is nan, and 1 of 3");
  WriteText();
  options_.labels_are = LabelKind::kClasses;
  WriteGz("in/raw/node-label.csv.gz", "0\n1\n0.5\n");
  ExpectError("node-label.csv.gz:3: element 2 is 0.5");
  WriteText();
  WriteGz("in/raw/num-node-list.csv.gz", "3\n4\n");
  ExpectError("counts the vertices of 2 graphs");
  WriteGz("in/raw/triplet-type-list.csv.gz", "a,b,c\n");
  ExpectError("several types");
}

class ImportGraphBoltTest : public ImportTest {
 protected:
  ImportGraphBoltTest() {
    source_.folder = folder_ / "in";
    Write("in/edges.csv", "0,1\n2,1\n");
    Write("in/data/feat.npy", Npy<float>({3}, {1, 2, 3}));
    Write("in/set/train.npy", Npy<int64_t>({2, 0}));
    Write("in/set/train_labels.npy", Npy<int64_t>({1, 0}));
  }
  static std::string Metadata(const std::string& edges,
                              const std::string& extra = "") {
    return "dataset_name: tiny\n"
           "graph:\n"
           "  nodes: [{num: 3}]\n"
           "  edges: [" +
           edges + "]\n" + extra +
           "tasks:\n"
           "- name: node_classification\n"
           "  num_classes: 5\n"
           "  train_set:\n"
           "  - data:\n"
           "    - {name: seeds, format: numpy, path: set/train.npy}\n"
           "    - {name: labels, format: numpy, path: set/train_labels.npy}\n";
  }
  absl::StatusOr<ImportSummary> Import(const std::string& metadata) {
    Write("in/metadata.yaml", metadata);
    return From(ImportGraphBolt, source_);
  }
  void ExpectError(const std::string& metadata, const std::string& message) {
    EXPECT_THAT(Import(metadata).status().message(), HasSubstr(message));
    EXPECT_TRUE(NothingLeft());
  }
  const std::string csv_ = "{format: csv, path: edges.csv}";
  const std::string feature_ =
      "feature_data:\n"
      "- {domain: node, type: null, name: feat, format: numpy, in_memory: true,"
      " path: data/feat.npy}\n";
  GraphBoltSource source_;
};

TEST_F(ImportGraphBoltTest, ReadsEdgesFeaturesSeedsAndLabels) {
  const ImportSummary summary = Taken(Import(Metadata(csv_, feature_)));

  EXPECT_THAT(InNeighbors(1), ElementsAre(0, 2));
  EXPECT_THAT(Features(2), ElementsAre(3));
  EXPECT_EQ(summary.num_classes, 5U);
  EXPECT_THAT(ToVector(Out().labels()), ElementsAre(0, -1, 1));
  EXPECT_THAT(ToVector(Out().train()), ElementsAre(2, 0));
}

TEST_F(ImportGraphBoltTest, ReadsEdgesAsAnArray) {
  Write("in/edges.npy", Npy<int64_t>({2, 3}, {0, 1, 2, 1, 2, 0}));
  FGNN_ASSERT_OK(Import(Metadata("{format: numpy, path: edges.npy}")));
  EXPECT_THAT(InNeighbors(1), ElementsAre(0));
  EXPECT_THAT(InNeighbors(0), ElementsAre(2));
}

TEST_F(ImportGraphBoltTest, WhatIsNotSupportedIsSaid) {
  ExpectError("a: 1\n", "has no 'graph'");
  ExpectError("a: [\n", "metadata.yaml:");
  ExpectError("graph:\n  nodes: [{num: many}]\n  edges: []\n",
              "metadata.yaml:");
  ExpectError("graph:\n  nodes: [{num: 3, type: user}]\n", "heterogeneous");
  ExpectError(Metadata(csv_ + ", " + csv_), "heterogeneous");
  ExpectError(Metadata("{format: torch, path: e.pt}"), "it is csv or numpy");
  ExpectError(Metadata(csv_,
                       "feature_data:\n"
                       "- {domain: node, name: feat, format: torch, path: "
                       "data/feat.pt}\n"),
              "'data/feat.pt' of 'feature_data' is a torch file");
  source_.feature = "year";
  ExpectError(Metadata(csv_, feature_), "has no node feature 'year'");
  source_.feature.clear();
  source_.task = "link";
  ExpectError(Metadata(csv_), "has no task 'link'; it has node_classification");
  source_.task.clear();
  Write("in/set/train_labels.npy", Npy<int64_t>({1}));
  ExpectError(Metadata(csv_), "train_labels.npy: 1 labels for the 2 seeds");
  Write("in/set/train_labels.npy", Npy<int64_t>({1, 0}));
  Write("in/set/train.npy", Npy<int64_t>({2, 3}));
  ExpectError(Metadata(csv_), "train.npy: element 1 is 3");
  Write("in/edges.csv", "0,1\n3,1\n");
  ExpectError(Metadata(csv_), "edges.csv:2: vertex 3");
}

class ImportCliTest : public ImportTest {
 protected:
  absl::Status Run(std::vector<std::string> arguments, bool json = false) {
    CommandLine line("");
    absl::Status status;
    AddImportCommands(line.root(), json, status);
    testing::internal::CaptureStdout();
    testing::internal::CaptureStderr();
    const auto text = line.Parse(std::move(arguments));
    if (!text.ok()) status = text.status();
    stdout_ = testing::internal::GetCapturedStdout();
    testing::internal::GetCapturedStderr();
    return status;
  }
  std::string out() const { return options_.out.string(); }
  std::string stdout_;
};

TEST_F(ImportCliTest, EveryKindIsThere) {
  CommandLine line("");
  absl::Status status;
  const bool json = false;
  AddImportCommands(line.root(), json, status);
  for (const char* kind :
       {"debian", "edgelist", "csv", "npz", "numpy", "ogb", "graphbolt"}) {
    const auto command = line.root().Subcommand(kind);
    ASSERT_TRUE(command.has_value()) << kind;
    EXPECT_FALSE(command->Help().empty());
    const auto out = command->FindOption("--out");
    ASSERT_TRUE(out.has_value());
    EXPECT_TRUE(out->IsRequired());
  }
}

TEST_F(ImportCliTest, TellsTheTotalsInWordsOrJson) {
  const std::string path = Write("edges.txt", "0 1\n1 2\n1 2\n").string();
  FGNN_ASSERT_OK(Run({"edgelist", path, "--out", out(), "--symmetric"}));
  EXPECT_THAT(stdout_, AllOf(HasSubstr("3 vertices, 4 edges"),
                             HasSubstr("3 lines + 2 reverses = 4 edges + "
                                       "1 merged")));

  std::filesystem::remove_all(options_.out);
  FGNN_ASSERT_OK(Run({"edgelist", path, "--out", out()}, /*json=*/true));
  const nlohmann::json document = nlohmann::json::parse(stdout_);
  EXPECT_EQ(document["num_nodes"], 3);
  EXPECT_EQ(document["num_edges"], 2);
  EXPECT_EQ(document["duplicates_dropped"], 1);
  EXPECT_EQ(document["dataset"], out());
}

TEST_F(ImportCliTest, DebianSplitsInHalves) {
  const std::string path =
      Write("Packages",
            "Package: a\nSection: x\nDepends: b\n\nPackage: b\nSection: y\n\n"
            "Package: c\nSection: x\n\nPackage: d\nSection: x\n")
          .string();
  FGNN_ASSERT_OK(Run({"debian", path, "--out", out(), "--columns", "8",
                      "--feature-type", "bf16"}));
  EXPECT_EQ(Out().features().type, FeatureType::kBfloat16);
  EXPECT_EQ(Out().features().columns, 8U);
  EXPECT_EQ(Out().train().size(), 2U);
  EXPECT_EQ(Out().valid().size() + Out().test().size(), 2U);
}

TEST_F(ImportCliTest, WrongUseLeavesNothing) {
  const std::string path = Write("edges.txt", "0 1\n").string();
  EXPECT_THAT(Run({"edgelist", path}),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("--out")));
  EXPECT_FALSE(
      Run({"edgelist", path, "--out", out(), "--symmetric", "--directed"})
          .ok());
  EXPECT_FALSE(
      Run({"edgelist", path, "--out", out(), "--feature-type", "f64"}).ok());
  EXPECT_THAT(
      Run({"csv", path, "--out", out(), "--separator", "ab"}),
      StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("--separator")));
  EXPECT_THAT(
      Run({"edgelist", path, "--out", out(), "--string-ids", "--one-based"}),
      StatusIs(absl::StatusCode::kInvalidArgument));
  EXPECT_TRUE(NothingLeft());
}

}  // namespace
}  // namespace fgnn
