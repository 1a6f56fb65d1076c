#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "tests/fakes/status_matchers.h"
#include "tests/unit/tools/dataset/import_fixture.h"
#include "tools/dataset/importing/import.h"

namespace fgnn {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class ImportEdgeListTest : public ImportTest {
 protected:
  absl::StatusOr<ImportSummary> Import(const std::string& text) {
    source_.path = Write("edges.txt", text);
    return From(ImportEdgeList, source_);
  }
  void ExpectError(const std::string& text, const std::string& message) {
    EXPECT_THAT(Import(text), StatusIs(absl::StatusCode::kInvalidArgument,
                                       HasSubstr(message)));
    EXPECT_TRUE(NothingLeft());
  }
  EdgeListSource source_;
};

TEST_F(ImportEdgeListTest, TakesEdgesAsTheyAreAmongCommentsAndBlanks) {
  const ImportSummary summary = Taken(
      Import("\xEF\xBB\xBF# from to\r\n0 2\r\n\r\n% more\n  1\t 2 \n2 0\n0 2"));

  EXPECT_EQ(summary.num_nodes, 3U);
  EXPECT_EQ(summary.num_edges, 3U);
  EXPECT_EQ(summary.edges.num_merged, 1U);
  EXPECT_THAT(InNeighbors(0), ElementsAre(2));
  EXPECT_THAT(InNeighbors(1), IsEmpty());
  EXPECT_THAT(InNeighbors(2), ElementsAre(0, 1));
  EXPECT_FALSE(Out().has_names());
}

TEST_F(ImportEdgeListTest, MakesSymmetricDropsLoopsAndKeepsDuplicatesIfAsked) {
  options_.symmetric = true;
  options_.drop_self_loops = true;
  options_.keep_duplicates = true;

  const ImportSummary summary = Taken(Import("0 1\n0 1\n1 1\n"));

  EXPECT_EQ(summary.edges.num_merged, 0U);
  EXPECT_GE(summary.edges.num_self_loops, 1U);
  EXPECT_THAT(InNeighbors(0), ElementsAre(1, 1));
  EXPECT_THAT(InNeighbors(1), ElementsAre(0, 0));
}

TEST_F(ImportEdgeListTest, ReadsGzipAndSaysWhereATruncatedOneEnds) {
  std::string text;
  for (int i = 0; i < 5000; ++i) {
    text += std::to_string(i * 7919 % 5000) + " " + std::to_string(i) + "\n";
  }
  source_.path = WriteGz("edges.gz", text);
  const ImportSummary summary = Taken(From(ImportEdgeList, source_));
  EXPECT_EQ(summary.num_edges, 5000U);

  std::filesystem::resize_file(source_.path,
                               std::filesystem::file_size(source_.path) / 2);
  EXPECT_THAT(From(ImportEdgeList, source_),
              StatusIs(absl::StatusCode::kDataLoss,
                       AllOf(HasSubstr("edges.gz"), HasSubstr("truncated"))));
  EXPECT_TRUE(NothingLeft());
}

TEST_F(ImportEdgeListTest, ThirdWordsAreWeightsUnlessIgnored) {
  FGNN_ASSERT_OK(Import("0 1 0.5\n1 0 2e3\n"));
  EXPECT_THAT(Out().edge_weights(), ElementsAre(2000.0F, 0.5F));

  source_.ignore_weights = true;
  FGNN_ASSERT_OK(Import("0 1 -3 x\n1 0\n"));
  EXPECT_FALSE(std::filesystem::exists(options_.out / "edge_weights.npy"));
}

TEST_F(ImportEdgeListTest, AHeaderIsLeftOutAndSaid) {
  const ImportSummary summary =
      Taken(Import("# made by hand\nfrom\tto\tweight\n"
                   "0 1 0.5\n1 0 2\n"));
  EXPECT_EQ(summary.num_edges, 2U);
  EXPECT_THAT(summary.notes,
              Contains(AllOf(HasSubstr("edges.txt:2: 'from"),
                             HasSubstr("is taken for a header"))));

  // Names of vertices are no header, unless they are usual ones of columns.
  source_.string_ids = true;
  FGNN_ASSERT_OK(Import("Source Target\nann bob\n"));
  EXPECT_EQ(ReadOut("names.txt"), "ann\nbob\n");
}

TEST_F(ImportEdgeListTest, StringIdsAreNumberedInOrderAndNamed) {
  source_.string_ids = true;

  const ImportSummary summary =
      Taken(Import("bob alice\n99999999999999 bob\nalice 99999999999999\n"));

  EXPECT_EQ(summary.num_nodes, 3U);
  EXPECT_EQ(ReadOut("names.txt"), "bob\nalice\n99999999999999\n");
  EXPECT_EQ(Out().NodeName(1), "alice");
  EXPECT_THAT(InNeighbors(1), ElementsAre(0));
  EXPECT_THAT(InNeighbors(2), ElementsAre(1));
}

TEST_F(ImportEdgeListTest, OneBasedIdsLoseOne) {
  source_.one_based = true;
  FGNN_ASSERT_OK(Import("1 2\n2 3\n"));
  EXPECT_EQ(Out().num_nodes(), 3U);
  EXPECT_THAT(InNeighbors(1), ElementsAre(0));

  EXPECT_THAT(Import("0 1\n"), StatusIs(absl::StatusCode::kInvalidArgument,
                                        HasSubstr("edges.txt:1")));
}

TEST_F(ImportEdgeListTest, FeaturesAndLabelsBringIsolatedVertices) {
  source_.features =
      Write("x.npy", Npy<float>({4, 2}, {0, 1, 2, 3, 4, 5, 6, 7}));
  source_.labels = Write("y.npy", Npy<int64_t>({1, -1, 0, 1}));
  options_.train_fraction = 0.34;

  const ImportSummary summary = Taken(Import("0 1\n"));

  EXPECT_EQ(summary.num_nodes, 4U);
  EXPECT_EQ(summary.num_classes, 2U);
  EXPECT_EQ(summary.num_labelled, 3U);
  EXPECT_EQ(summary.num_train + summary.num_valid + summary.num_test, 3U);
  EXPECT_THAT(Features(3), ElementsAre(6, 7));
  EXPECT_THAT(ToVector(Out().labels()), ElementsAre(1, -1, 0, 1));
}

TEST_F(ImportEdgeListTest, ADrawnSplitDependsOnTheSeedAlone) {
  std::string text;
  std::vector<int64_t> labels;
  for (int i = 0; i < 200; ++i) {
    text += std::to_string(i) + " " + std::to_string((i + 1) % 200) + "\n";
    labels.push_back(i % 3);
  }
  source_.labels = Write("y.npy", Npy<int64_t>(labels));
  options_.train_fraction = 0.5;
  std::vector<std::string> splits;
  for (const uint64_t seed : {1, 1, 2}) {
    options_.seed = seed;
    FGNN_ASSERT_OK(Import(text));
    splits.push_back(ReadOut("train.npy"));
  }
  EXPECT_EQ(splits[0], splits[1]);
  EXPECT_NE(splits[0], splits[2]);
}

TEST_F(ImportEdgeListTest, BadLinesAreNamed) {
  ExpectError("0 1\n0\n", "edges.txt:2: '0' is not 'source destination");
  ExpectError("0,1\n", "import commas as csv");
  ExpectError("0 1\n1 2 3\n", "edges.txt:2: 3 words");
  ExpectError("0 1 1 1\n", "--ignore-weights");
  ExpectError("0 1 nan\n", "edges.txt: line 1: weight is missing (nan 1)");
  ExpectError("0 1 -1\n", "weight '-1'");
  ExpectError("0 b\n", "--string-ids");
  ExpectError("0 -1\n", "--string-ids");
  ExpectError("0 4294967295\n", "beyond 2^32 - 2");
  ExpectError("0 4294967294\n", "numbers reach 4,294,967,294 but only 1 edges");
  ExpectError("# nothing\n", "holds no edges");
  ExpectError("%%MatrixMarket matrix coordinate\n3 3 1\n1 2\n", "--one-based");
}

TEST_F(ImportEdgeListTest, BadSourcesAndTargetsAreNamed) {
  source_.path = folder_ / "missing.txt";
  EXPECT_THAT(From(ImportEdgeList, source_),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("missing.txt")));
  source_.path = folder_.path();
  EXPECT_THAT(From(ImportEdgeList, source_),
              StatusIs(absl::StatusCode::kInvalidArgument));
  EXPECT_TRUE(NothingLeft());

  Write("out/something", "x");
  EXPECT_THAT(Import("0 1\n"), StatusIs(absl::StatusCode::kAlreadyExists));
  EXPECT_EQ(ReadOut("something"), "x");
}

TEST_F(ImportEdgeListTest, PartsOfDifferentGraphsAreRefused) {
  source_.features = Write("x.npy", Npy<float>({2, 1}, {0, 1}));
  ExpectError("0 5\n", "features of 2 vertices, but the graph has 6");
  source_.features = Write("x.npy", Npy<float>({2, 1}, {0, NAN}));
  ExpectError("0 1\n", "feature column 0 of vertex 1 is nan");
  source_.features.clear();
  source_.labels = Write("y.npy", Npy<int64_t>({0, -2}));
  ExpectError("0 1\n", "the label of vertex 1 is -2");
  source_.labels = Write("y.npy", Npy<int64_t>({0, 3}));
  options_.num_classes = 3;
  ExpectError("0 1\n", "raise --classes");
  options_.num_classes = 0;
  options_.train_fraction = 1.5;
  ExpectError("0 1\n", "--train-fraction is 1.5");
}

TEST_F(ImportEdgeListTest, ProgressRisesToTheEndOfEachStage) {
  std::vector<std::string> stages;
  uint64_t last = 0;
  options_.progress = [&](std::string_view stage, uint64_t done,
                          uint64_t total) {
    if (stages.empty() || stages.back() != stage) {
      stages.emplace_back(stage);
      last = 0;
    }
    EXPECT_GE(done, last);
    EXPECT_LE(done, total);
    last = done;
  };
  std::string text;
  for (int i = 0; i < 20000; ++i) text += std::to_string(i) + " 0\n";

  FGNN_ASSERT_OK(Import(text));

  EXPECT_THAT(stages, Contains("reading edges"));
  EXPECT_THAT(stages, Contains("sorting edges"));
}

}  // namespace
}  // namespace fgnn
