// What importers do with missing values, comments and ids that count apart.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "shared/graph/metadata.h"
#include "tests/fakes/status_matchers.h"
#include "tests/unit/tools/dataset/import_fixture.h"
#include "tools/dataset/importing/import.h"
#include "tools/dataset/importing/import_report.h"
#include "tools/dataset/inspecting/dataset_info.h"

namespace fgnn {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::ElementsAre;
using testing::ElementsAreArray;
using testing::HasSubstr;
using testing::Not;

class ImportOdditiesTest : public ImportTest {
 protected:
  ImportOdditiesTest() {
    source_.edges = Write("edges.csv", "source,destination\nw,x\nx,y\ny,z\n");
  }
  absl::StatusOr<ImportSummary> Import(const std::string& nodes) {
    source_.nodes = {Write("nodes.csv", nodes)};
    return From(ImportCsv, source_);
  }
  std::string ErrorOf(const std::string& nodes) {
    return std::string(Import(nodes).status().message());
  }
  CsvSource source_;
};

TEST_F(ImportOdditiesTest, EveryWordForMissingIsNoClass) {
  for (const std::string word :
       {"", "NaN", "NA", "-1", "NULL", "null", "None", "<NA>", "N/A", "\\N",
        "#N/A", "none", "NONE", "Null", "n/a", "nan", "NaT", "nil", "?"}) {
    const std::string other = word == "-1" ? "1" : "b";
    const std::string first = word == "-1" ? "0" : "a";
    const ImportSummary summary =
        Taken(Import("id,label\nw," + word + "\nx," + first + "\ny," + other +
                     "\nz," + word + "\n"));
    EXPECT_EQ(summary.num_classes, 2U) << word;
    EXPECT_EQ(summary.num_labelled, 2U) << word;
    EXPECT_THAT(ImportReport(summary, options_, 1), HasSubstr("missing 2 ("));
  }
}

TEST_F(ImportOdditiesTest, AQuotedWordIsDataAndWordsCanBeChosen) {
  const ImportSummary quoted =
      Taken(Import("id,label\nw,\"NA\"\nx,a\ny,NA\nz,\"NA\"\n"));
  EXPECT_EQ(ReadOut("class_names.txt"), "NA\na\n");
  EXPECT_EQ(quoted.num_labelled, 3U);
  options_.missing = MissingWords({"gone"});
  FGNN_ASSERT_OK(Import("id,label\nw,NA\nx,a\ny,Gone\nz,\n"));
  EXPECT_EQ(ReadOut("class_names.txt"), "NA\na\n");
}

// Whichever row lacks the value, and however it is written.
TEST_F(ImportOdditiesTest, AGapIsAnsweredOverTheWholeColumn) {
  for (int row = 0; row < 4; ++row) {
    std::string nodes = "id,a,b\n";
    for (int v = 0; v < 4; ++v) {
      nodes += std::string(1, static_cast<char>('w' + v)) + "," +
               (v == row ? "null" : std::to_string(v + 1)) + ",1\n";
    }
    options_.fill = {};
    EXPECT_THAT(
        ErrorOf(nodes),
        AllOf(HasSubstr("column 'a' has no value in 1 of 4 rows (null 1)"),
              HasSubstr("first in line " + std::to_string(row + 2)),
              HasSubstr("--fill 0 or --fill mean")));
    EXPECT_TRUE(NothingLeft());
    options_.fill = {GapFill::Kind::kMean, 0};
    const ImportSummary summary = Taken(Import(nodes));
    EXPECT_EQ(summary.feature_columns, 2U);
    EXPECT_THAT(ImportReport(summary, options_, 1),
                HasSubstr("filled with the mean"));
    options_.fill = {GapFill::Kind::kValue, -7};
    FGNN_ASSERT_OK(Import(nodes));
  }
}

TEST_F(ImportOdditiesTest, AColumnIsOfTextOrOfNumbersInWhateverRowTheyStand) {
  for (const std::string rows :
       {"w,t,1\nx,t,1\ny,t,1\nz,1,1\n", "w,1,1\nx,t,1\ny,t,1\nz,t,1\n",
        "w,t,1\nx,1,1\ny,NA,1\nz,t,1\n"}) {
    const ImportSummary summary = Taken(Import("id,a,b\n" + rows));
    EXPECT_EQ(summary.feature_columns, 1U);
    EXPECT_EQ(ReadOut("feature_names.txt"), "b\n");
  }
  for (const std::string bad :
       {"w,t\nx,1\ny,2\nz,3\n", "w,1\nx,2\ny,3\nz,t\n"}) {
    EXPECT_THAT(ErrorOf("id,a\n" + bad),
                HasSubstr("column 'a' holds 't', which is no number"));
  }
}

TEST_F(ImportOdditiesTest, MissingIdsAreNamedWithTheWayOut) {
  EXPECT_THAT(ErrorOf("id,a\nw,1\nNA,2\n"),
              AllOf(HasSubstr("nodes.csv:3: column 'id' is missing ('NA')"),
                    HasSubstr("--missing")));
  source_.nodes.clear();
  source_.string_ids = true;
  source_.edges = Write("edges.csv", "source,destination\nw,x\nx,null\n");
  EXPECT_THAT(From(ImportCsv, source_).status().message(),
              HasSubstr("edges.csv:3: column 'destination' is missing"));
  source_.edges = Write("edges.csv", "source,destination\nw,x\nx,\"null\"\n");
  FGNN_ASSERT_OK(From(ImportCsv, source_));
}

TEST_F(ImportOdditiesTest, NamesThatLookLikeCommentsStay) {
  EdgeListSource list;
  list.string_ids = true;
  list.path = Write("tags.txt",
                    "# a comment\n#graph #nn\n#nn alice\n%x bob\n%\nbob #nn\n");
  const ImportSummary summary = Taken(From(ImportEdgeList, list));
  EXPECT_EQ(summary.num_edges, 4U);
  EXPECT_EQ(summary.num_nodes, 5U);
  EXPECT_THAT(summary.notes,
              Contains(AllOf(HasSubstr("3 lines begin with # or %"),
                             HasSubstr("line 2: '#graph #nn'"))));
  EXPECT_THAT(ImportReport(summary, options_, 1),
              HasSubstr("2 comments (first line 1: '# a comment')"));
  FGNN_ASSERT_OK_AND_ASSIGN(const DatasetInfo info,
                            ReadDatasetInfo(options_.out));
  EXPECT_THAT(FormatInfo(info), HasSubstr("2 comments (first line 1"));

  list.comments = "#%";
  const ImportSummary fewer = Taken(From(ImportEdgeList, list));
  EXPECT_EQ(fewer.num_edges, 1U);

  source_.string_ids = true;
  source_.edges = Write("edges.csv", "# made\nsource,destination\n#a,b\nc,d\n");
  EXPECT_THAT(From(ImportCsv, source_).status().message(),
              HasSubstr("--comment"));
  source_.comments = "#";
  const ImportSummary csv = Taken(From(ImportCsv, source_));
  EXPECT_EQ(csv.num_edges, 1U);
}

TEST_F(ImportOdditiesTest, TwoKindsCountApartIfThatIsSaid) {
  source_.source_column = "userId";
  source_.destination_column = "movieId";
  source_.edges = Write("ml.csv", "userId,movieId\n1,1\n1,2\n2,2\n3,1\n");
  const ImportSummary one = Taken(From(ImportCsv, source_));
  EXPECT_THAT(one.notes, Contains(AllOf(HasSubstr("share 2 values"),
                                        HasSubstr("--bipartite"))));
  source_.bipartite = true;
  const ImportSummary two = Taken(From(ImportCsv, source_));
  EXPECT_EQ(two.num_nodes, 5U);
  EXPECT_THAT(two.notes, Not(Contains(HasSubstr("share"))));
  EXPECT_EQ(ReadOut("names.txt"),
            "userId:1\nmovieId:1\nmovieId:2\nuserId:2\nuserId:3\n");
  EXPECT_THAT(ReadMetadata(options_.out).value().kinds,
              ElementsAre("userId", "movieId"));
}

TEST_F(ImportOdditiesTest, KindsWhoseNamesOfVerticesMayBeEqualAreRefused) {
  source_.bipartite = true;
  source_.edges = Write("e.csv", "a,a:b\nb:5,5\n");
  for (const auto& [first, second] :
       {std::pair("a", "a:b"), std::pair("a:b", "a")}) {
    source_.source_column = first;
    source_.destination_column = second;
    EXPECT_THAT(From(ImportCsv, source_),
                StatusIs(absl::StatusCode::kInvalidArgument,
                         HasSubstr("rename a column")));
  }
  source_.edges = Write("e.csv", "a,ab\nb:5,5\n");
  source_.source_column = "a";
  source_.destination_column = "ab";
  FGNN_ASSERT_OK(From(ImportCsv, source_));
  EXPECT_EQ(ReadOut("names.txt"), "a:b:5\nab:5\n");
}

TEST_F(ImportOdditiesTest, EachKindMayHaveAFileOfItsVertices) {
  source_.source_column = "userId";
  source_.destination_column = "movieId";
  source_.bipartite = true;
  source_.edges = Write("ml.csv", "userId,movieId\n1,1\n1,2\n2,2\n");
  const std::string movies =
      Write("movies.csv", "movieId,year,label\n2,1990,b\n1,1980,a\n");
  const std::string users = Write("users.csv", "id,age\n1,30\n2,40\n");
  source_.nodes = {movies, "userId=" + users};
  FGNN_ASSERT_OK(From(ImportCsv, source_));
  EXPECT_EQ(ReadOut("names.txt"), "movieId:2\nmovieId:1\nuserId:1\nuserId:2\n");
  EXPECT_EQ(ReadOut("feature_names.txt"), "movieId:year\nuserId:age\n");
  EXPECT_THAT(Features(1), ElementsAre(1980, 0));
  EXPECT_THAT(Features(2), ElementsAre(0, 30));
  EXPECT_THAT(ToVector(Out().labels()), ElementsAre(1, 0, -1, -1));

  // A kind without a file has the ids of the edges.
  source_.nodes = {movies};
  const ImportSummary summary = Taken(From(ImportCsv, source_));
  EXPECT_EQ(summary.num_nodes, 4U);
  EXPECT_THAT(summary.notes, Contains(HasSubstr("2 vertices are in no nodes")));
  source_.nodes = {users};
  EXPECT_THAT(From(ImportCsv, source_).status().message(),
              AllOf(HasSubstr("users.csv"), HasSubstr("userId=FILE")));
}

TEST_F(ImportOdditiesTest, UnequalWeightsAreMergedAsIsSaid) {
  EdgeListSource list;
  list.path = Write("w.txt", "0 1 1\n1 0 9\n0 1 4\n1 2 2\n");
  options_.symmetric = true;
  const std::vector<std::vector<float>> right = {
      {9, 1, 2, 2}, {9, 5, 2, 2}, {9, 4, 2, 2}};
  for (size_t rule = 0; rule < right.size(); ++rule) {
    options_.equal_edges = static_cast<EqualEdges>(rule);
    const ImportSummary summary = Taken(From(ImportEdgeList, list));
    EXPECT_EQ(summary.edges.num_merged, 1U);
    EXPECT_EQ(summary.edges.num_reverses, 1U);
    EXPECT_THAT(summary.notes, Contains(HasSubstr("--equal-edges")));
    EXPECT_THAT(Out().edge_weights(), ElementsAreArray(right[rule]));
  }
}

TEST_F(ImportOdditiesTest, ASecondDocumentIsRefused) {
  Write("bolt/metadata.yaml", "graph: {nodes: [{num: 3}]}\n---\ntasks: []\n");
  EXPECT_THAT(
      From(ImportGraphBolt, {folder_ / "bolt", {}, {}}).status().message(),
      HasSubstr("a second document begins here"));
}

TEST_F(ImportOdditiesTest, Utf16IsNamed) {
  source_.edges = Write("edges.csv", std::string("\xFF\xFEs\0o\0\n\0", 8));
  EXPECT_THAT(From(ImportCsv, source_).status().message(),
              HasSubstr("is UTF-16 text"));
}

}  // namespace
}  // namespace fgnn
