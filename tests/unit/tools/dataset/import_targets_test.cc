// Labels that are numbers or sets of classes, from every kind of source.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <limits>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "shared/command_line/command_line.h"
#include "tests/fakes/status_matchers.h"
#include "tests/unit/tools/dataset/import_fixture.h"
#include "tools/dataset/importing/import.h"
#include "tools/dataset/importing/import_report.h"
#include "tools/dataset/inspecting/dataset_info.h"
#include "tools/fgnn/dataset/import_cli.h"

namespace fgnn {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsNan;
using testing::Not;

// Four vertices in a ring, as a folder of arrays; labels are the test's.
class ImportTargetsTest : public ImportTest {
 protected:
  ImportTargetsTest() {
    source_.folder = folder_ / "in";
    Write("in/indptr.npy", Npy<int64_t>({0, 1, 2, 3, 4}));
    Write("in/indices.npy", Npy<int32_t>({1, 2, 3, 0}));
  }

  absl::StatusOr<ImportSummary> Import(const std::string& labels) {
    Write("in/labels.npy", labels);
    return From(ImportNumpy, source_);
  }
  void ExpectError(const std::string& labels, const std::string& message) {
    EXPECT_THAT(Import(labels).status().message(), HasSubstr(message));
    EXPECT_TRUE(NothingLeft());
  }

  std::vector<float> Target(GlobalId v) {
    std::vector<float> row(Out().num_targets());
    Out().targets().Read(v, row.data());
    return row;
  }

  NumpySource source_;
};

TEST_F(ImportTargetsTest, OneColumnOfFractionsIsNumbers) {
  Write("in/train_idx.npy", Npy<int64_t>({0, 3}));
  const ImportSummary summary = Taken(Import(Npy<double>({1, -0.5, NAN, 2})));
  EXPECT_EQ(summary.target_columns, 1U);
  EXPECT_EQ(summary.target_type, TargetType::kFloat32);
  EXPECT_EQ(summary.num_labelled, 3U);
  EXPECT_EQ(summary.num_classes, 0U);
  EXPECT_THAT(summary.notes,
              Contains(AllOf(HasSubstr("labels are taken for numbers"),
                             HasSubstr("--labels-are"))));
  EXPECT_THAT(Target(0), ElementsAre(1));
  EXPECT_THAT(Target(1), ElementsAre(-0.5F));
  EXPECT_THAT(Target(2), ElementsAre(IsNan()));
  EXPECT_THAT(ToVector(Out().train()), ElementsAre(0, 3));
  EXPECT_FALSE(std::filesystem::exists(options_.out / "labels.npy"));
}

TEST_F(ImportTargetsTest, OneColumnOfWholeNumbersIsClassesUnlessSaidOtherwise) {
  const ImportSummary floats = Taken(Import(Npy<float>({1, 0, 1, 2})));
  EXPECT_EQ(floats.num_classes, 3U);
  EXPECT_THAT(floats.notes, Contains(HasSubstr("--labels-are numbers")));
  const ImportSummary integers = Taken(Import(Npy<int64_t>({1, 0, 1, 2})));
  EXPECT_EQ(integers.num_classes, 3U);
  EXPECT_THAT(integers.notes, Not(Contains(HasSubstr("--labels-are"))));

  options_.labels_are = LabelKind::kClasses;
  const ImportSummary said = Taken(Import(Npy<float>({1, 0, 1, 2})));
  EXPECT_EQ(said.num_classes, 3U);
  EXPECT_THAT(said.notes, Not(Contains(HasSubstr("--labels-are"))));

  options_.labels_are = LabelKind::kNumbers;
  const ImportSummary numbers = Taken(Import(Npy<int64_t>({1, 0, 1, 2})));
  EXPECT_EQ(numbers.num_classes, 0U);
  EXPECT_EQ(numbers.target_columns, 1U);
  EXPECT_THAT(numbers.notes, Not(Contains(HasSubstr("--labels-are"))));
  EXPECT_THAT(Target(3), ElementsAre(2));
}

// Temperatures are no classes, although they are whole.
TEST_F(ImportTargetsTest, FloatsThatNoClassHasAreNumbers) {
  const ImportSummary summary = Taken(Import(Npy<float>({3, 0, -7, 2})));
  EXPECT_EQ(summary.target_columns, 1U);
  EXPECT_THAT(Target(0), ElementsAre(3));
  EXPECT_THAT(Target(2), ElementsAre(-7));
  ExpectError(Npy<int64_t>({3, 0, -7, 2}),
              "the label of vertex 2 is -7; labels are -1 (none) or from 0 to "
              "16777215; --labels-are numbers");
}

TEST_F(ImportTargetsTest, SeveralColumnsOfZerosAndOnesAreSets) {
  const ImportSummary summary =
      Taken(Import(Npy<float>({4, 2}, {0, 1, 1, 1, NAN, 1, 0, 0})));
  EXPECT_EQ(summary.target_type, TargetType::kBits);
  EXPECT_EQ(summary.target_columns, 2U);
  EXPECT_EQ(summary.num_labelled, 3U);
  EXPECT_THAT(summary.notes,
              Contains(HasSubstr("labels are taken for sets of")));
  EXPECT_THAT(summary.notes,
              Contains(HasSubstr("1 vertices have some of their 2 labels")));
  EXPECT_THAT(Target(1), ElementsAre(1, 1));
  EXPECT_THAT(Target(2), ElementsAre(IsNan(), 1));
  EXPECT_THAT(ImportReport(summary, options_, 1),
              HasSubstr("3 vertices with sets of 2 classes"));
  EXPECT_FALSE(std::filesystem::exists(options_.out / "targets.npy.sets"));
}

TEST_F(ImportTargetsTest, OtherNumbersInSeveralColumnsAreNumbers) {
  const ImportSummary summary =
      Taken(Import(Npy<int32_t>({4, 2}, {0, 1, 1, 1, 2, 1, 0, 0})));
  EXPECT_EQ(summary.target_type, TargetType::kFloat32);
  EXPECT_THAT(Target(2), ElementsAre(2, 1));
  EXPECT_THAT(ImportReport(summary, options_, 1),
              HasSubstr("4 vertices with 2 numbers each"));
}

TEST_F(ImportTargetsTest, MarksOfWhatIsNotKnownAreAskedFor) {
  const std::string labels = Npy<int64_t>({4, 2}, {0, 1, 1, 1, -1, -1, 0, 0});
  ExpectError(labels, "labels.npy: holds 0, 1, and -1 or 255; --labels-are");
  options_.labels_are = LabelKind::kSets;
  const ImportSummary summary = Taken(Import(labels));
  EXPECT_EQ(summary.num_labelled, 3U);
  EXPECT_THAT(Target(2), Each(IsNan()));
  EXPECT_THAT(summary.notes, Not(Contains(HasSubstr("some of their"))));
}

TEST_F(ImportTargetsTest, WhatDoesNotFitTheFlagIsNamed) {
  options_.labels_are = LabelKind::kSets;
  ExpectError(Npy<float>({4, 2}, {0, 1, 1, 1, 0, 0.5, 0, 0}),
              "labels.npy: target 1 of vertex 2 is 0.5, but sets hold 1");
  options_.labels_are = LabelKind::kClasses;
  ExpectError(Npy<float>({4, 2}, {0, 1, 1, 1, 0, 1, 0, 0}),
              "labels.npy: 2 labels a vertex, which --labels-are classes");
  options_.labels_are = LabelKind::kAuto;
  ExpectError(Npy<float>({1, 0.5, std::numeric_limits<float>::infinity(), 0}),
              "labels.npy: target 0 of vertex 2 is infinite");
  ExpectError(Npy<double>({1, 0.5, 1e300, 0}),
              "labels.npy: target 0 of vertex 2 is infinite as f32");
  ExpectError(Npy<float>({2, 2, 1}, {0, 1, 1, 1}), "has 3 dimensions");
  ExpectError(Npy<float>({0.5, 1, 2}),
              "labels of 3 vertices, but the graph has 4");
  options_.num_classes = 4;
  ExpectError(Npy<float>({0.5, 1, 2, 3}), "--classes is given");
}

TEST_F(ImportTargetsTest, LabelsOfNoVertexAreLeftOut) {
  const ImportSummary summary =
      Taken(Import(Npy<float>({4, 2}, {NAN, 1, 1, NAN, NAN, 1, 3, NAN})));
  EXPECT_EQ(summary.target_columns, 0U);
  EXPECT_THAT(summary.notes, Contains(HasSubstr("no vertex has all its")));
  EXPECT_EQ(Out().num_targets(), 0U);
}

TEST_F(ImportTargetsTest, ADrawnSplitHasVerticesWithAllTargets) {
  options_.train_fraction = 0.5;
  FGNN_ASSERT_OK(Import(Npy<float>({4, 2}, {0.5, 1, NAN, 1, 1, NAN, 3, 4})));
  std::vector<int64_t> all = ToVector(Out().train());
  for (const auto& split : {Out().valid(), Out().test()}) {
    all.insert(all.end(), split.begin(), split.end());
  }
  EXPECT_THAT(all, testing::UnorderedElementsAre(0, 3));
}

TEST_F(ImportTargetsTest, ASplitOfVerticesWithoutTargetsIsRefused) {
  Write("in/train_idx.npy", Npy<int64_t>({0, 1}));
  ExpectError(Npy<float>({4, 2}, {0.5, 1, NAN, 1, 1, 2, 3, 4}),
              "vertex 1 of the train split has no label in some column");
}

TEST_F(ImportTargetsTest, NumbersFarFromNormalAreSaid) {
  const ImportSummary far =
      Taken(Import(Npy<float>({4, 2}, {5e5, 0.5, 4e5, -1, 6e5, 1, 5e5, 0})));
  EXPECT_THAT(far.notes,
              Contains(AllOf(
                  HasSubstr("column 0 has mean 5e+05 and standard deviation"),
                  HasSubstr("divide by the standard deviation"),
                  Not(HasSubstr("column 1")))));
  const ImportSummary same = Taken(Import(Npy<float>({0.5, 0.5, 0.5, 0.5})));
  EXPECT_THAT(same.notes, Contains(HasSubstr("standard deviation 0")));
  const ImportSummary near = Taken(Import(Npy<float>({0.5, -1, 1, 0.25})));
  EXPECT_THAT(near.notes, Not(Contains(HasSubstr("standard deviation"))));
}

TEST_F(ImportTargetsTest, ACodeOfClassesIsSaid) {
  const ImportSummary summary =
      Taken(Import(Npy<float>({4, 2}, {0, 1, 1, 0, 1, 0, 0, 1})));
  EXPECT_THAT(summary.notes, Contains(HasSubstr("exactly one of the 2")));
}

TEST_F(ImportTargetsTest, NpzAndEdgeListsHaveThemToo) {
  const std::string y = Npy<float>({3, 2}, {0.5, 1, 2, 3, 4, 5});
  const auto npz = WriteNpz(
      "in.npz", {{"edge_index", Npy<int64_t>({2, 2}, {0, 1, 1, 2})}, {"y", y}});
  FGNN_ASSERT_OK(From(ImportNpz, {npz}));
  EXPECT_THAT(Target(2), ElementsAre(4, 5));

  EdgeListSource edges;
  edges.path = Write("edges.txt", "0 1\n1 2\n");
  edges.labels = Write("y.npy", y);
  const ImportSummary summary = Taken(From(ImportEdgeList, edges));
  EXPECT_EQ(summary.target_columns, 2U);
}

TEST_F(ImportTargetsTest, CsvHasColumnsWithNames) {
  CsvSource csv;
  csv.edges = Write("edges.csv", "source,destination\nx,y\ny,z\n");
  csv.nodes = {
      Write("nodes.csv", "id,rent,area,rooms\nx,0.5,1,3\ny,,2,1\nz,-1,0,2\n")};
  csv.label_columns = {"rent", "area"};
  const ImportSummary summary = Taken(From(ImportCsv, csv));
  EXPECT_EQ(summary.target_columns, 2U);
  EXPECT_EQ(summary.num_labelled, 2U);
  EXPECT_EQ(summary.feature_columns, 1U);
  EXPECT_EQ(ReadOut("target_names.txt"), "rent\narea\n");
  EXPECT_EQ(Out().TargetName(1), "area");
  EXPECT_THAT(Target(2), ElementsAre(-1, 0));
  FGNN_ASSERT_OK_AND_ASSIGN(const DatasetInfo info,
                            ReadDatasetInfo(options_.out));
  EXPECT_THAT(FormatInfo(info),
              AllOf(HasSubstr("2 columns of numbers: 0 rent (mean -0.25, "),
                    HasSubstr("without a label: 1"),
                    Not(HasSubstr("labels     none"))));
  const auto document = nlohmann::json::parse(InfoToJson(info));
  EXPECT_EQ(document["targets"][1]["name"], "area");
  EXPECT_EQ(document["targets"][0]["count"], 2);
}

TEST_F(ImportTargetsTest, OneCsvColumnOfFractionsIsNumbers) {
  CsvSource csv;
  csv.edges = Write("edges.csv", "source,destination\nx,y\ny,z\n");
  csv.nodes = {Write("nodes.csv", "id,label\nx,0.5\ny,NA\nz,2\n")};
  FGNN_ASSERT_OK(From(ImportCsv, csv));
  EXPECT_EQ(Out().TargetName(0), "label");
  EXPECT_THAT(Target(0), ElementsAre(0.5F));
  EXPECT_THAT(Target(1), ElementsAre(IsNan()));
  EXPECT_THAT(Target(2), ElementsAre(2));

  // Codes that look like numbers stay names of classes if that is said.
  options_.labels_are = LabelKind::kClasses;
  FGNN_ASSERT_OK(From(ImportCsv, csv));
  EXPECT_EQ(ReadOut("class_names.txt"), "0.5\n2\n");
}

TEST_F(ImportTargetsTest, CsvLabelsThatAreNoNumbersAreNamed) {
  CsvSource csv;
  csv.edges = Write("edges.csv", "source,destination\nx,y\ny,z\n");
  csv.nodes = {Write("nodes.csv", "id,a,b\nx,1,0\ny,1,red\nz,0,1\n")};
  csv.label_columns = {"a", "b"};
  EXPECT_THAT(From(ImportCsv, csv).status().message(),
              AllOf(HasSubstr("nodes.csv:3: column 'b' holds 'red'"),
                    HasSubstr("--label-column")));
  csv.label_columns = {"a", "a"};
  EXPECT_THAT(From(ImportCsv, csv).status().message(),
              HasSubstr("names 'a' twice"));
  csv.label_columns = {"b"};
  options_.labels_are = LabelKind::kNumbers;
  EXPECT_THAT(From(ImportCsv, csv).status().message(),
              HasSubstr("column 'b' holds 'red', which is no number"));
}

TEST_F(ImportTargetsTest, OneCsvColumnMayHoldSets) {
  CsvSource csv;
  csv.edges = Write("edges.csv", "source,destination\nw,x\nx,y\ny,z\n");
  csv.nodes = {
      Write("nodes.csv", "id,label\nw,sports; news\nx,\ny,;\nz,art;;news\n")};
  const ImportSummary classes = Taken(From(ImportCsv, csv));
  EXPECT_EQ(classes.num_classes, 3U);
  EXPECT_THAT(classes.notes,
              Contains(AllOf(HasSubstr("column 'label' holds ';'"),
                             HasSubstr("--labels-are sets"))));

  options_.labels_are = LabelKind::kSets;
  const ImportSummary sets = Taken(From(ImportCsv, csv));
  EXPECT_EQ(sets.num_labelled, 3U);
  EXPECT_EQ(ReadOut("target_names.txt"), "art\nnews\nsports\n");
  EXPECT_THAT(Target(0), ElementsAre(0, 1, 1));
  EXPECT_THAT(Target(1), Each(IsNan()));
  EXPECT_THAT(Target(2), Each(0));
  EXPECT_THAT(Target(3), ElementsAre(1, 1, 0));

  csv.nodes = {Write("nodes.csv", "id,label\nw,\nx,\ny,;\nz,\n")};
  const ImportSummary none = Taken(From(ImportCsv, csv));
  EXPECT_EQ(none.target_columns, 0U);
  EXPECT_THAT(none.notes, Contains(HasSubstr("names no class")));

  csv.nodes = {Write("nodes.csv", "id,label\nw,0\nx,1\ny,\nz,1\n")};
  EXPECT_THAT(From(ImportCsv, csv).status().message(),
              HasSubstr("column 'label' holds 0 and 1, which name no classes"));
}

TEST_F(ImportTargetsTest, OgbHasSeveralColumns) {
  WriteGz("ogb/raw/edge.csv.gz", "0,1\n2,1\n");
  WriteGz("ogb/raw/num-node-list.csv.gz", "3\n");
  WriteGz("ogb/raw/node-label.csv.gz", "1,0,1\n0,0,0\n,,\n");
  OgbSource ogb;
  ogb.folder = folder_ / "ogb";
  const ImportSummary summary = Taken(From(ImportOgb, ogb));
  EXPECT_EQ(summary.target_type, TargetType::kBits);
  EXPECT_EQ(summary.num_labelled, 2U);
  EXPECT_THAT(Target(0), ElementsAre(1, 0, 1));
  EXPECT_THAT(Target(2), Each(IsNan()));

  WriteNpz("ogb/raw/data.npz",
           {{"edge_index", Npy<int64_t>({2, 2}, {0, 2, 1, 1})},
            {"num_nodes_list", Npy<int64_t>({3})}});
  WriteNpz("ogb/raw/node-label.npz",
           {{"node_label", Npy<float>({3, 1}, {0.5, NAN, 0})}});
  const ImportSummary binary = Taken(From(ImportOgb, ogb));
  EXPECT_EQ(binary.target_columns, 1U);
}

TEST_F(ImportTargetsTest, GraphBoltHasThemForSeedsAlone) {
  Write("gb/edges.csv", "0,1\n2,1\n");
  Write("gb/train.npy", Npy<int64_t>({2, 0}));
  Write("gb/train_labels.npy", Npy<float>({2, 2}, {0.5, 1, 2, 3}));
  Write("gb/metadata.yaml",
        "graph:\n  nodes: [{num: 3}]\n"
        "  edges: [{format: csv, path: edges.csv}]\n"
        "tasks:\n- name: regression\n  num_classes: 9\n  train_set:\n"
        "  - data:\n    - {name: seeds, path: train.npy}\n"
        "    - {name: labels, path: train_labels.npy}\n");
  const ImportSummary summary =
      Taken(From(ImportGraphBolt, {folder_ / "gb", {}, {}}));
  EXPECT_EQ(summary.target_columns, 2U);
  EXPECT_EQ(summary.num_classes, 0U);
  EXPECT_THAT(Target(2), ElementsAre(0.5F, 1));
  EXPECT_THAT(Target(0), ElementsAre(2, 3));
  EXPECT_THAT(Target(1), Each(IsNan()));
  EXPECT_THAT(ToVector(Out().train()), ElementsAre(2, 0));
}

TEST_F(ImportTargetsTest, TheFlagIsOnTheCommandLine) {
  Write("in/labels.npy", Npy<int64_t>({1, 0, 1, 2}));
  CommandLine line("");
  absl::Status status;
  const bool json = true;
  AddImportCommands(line.root(), json, status);
  testing::internal::CaptureStdout();
  FGNN_ASSERT_OK(
      line.Parse({"numpy", source_.folder.string(), "--out",
                  options_.out.string(), "--labels-are", "numbers"}));
  const auto report =
      nlohmann::json::parse(testing::internal::GetCapturedStdout());
  FGNN_ASSERT_OK(status);
  EXPECT_EQ(report["target_columns"], 1);
  EXPECT_EQ(report["target_type"], "f32");
}

}  // namespace
}  // namespace fgnn
