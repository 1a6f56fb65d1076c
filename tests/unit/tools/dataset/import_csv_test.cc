#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "tests/fakes/status_matchers.h"
#include "tests/unit/tools/dataset/import_fixture.h"
#include "tools/dataset/importing/import.h"
#include "tools/dataset/inspecting/dataset_info.h"
#include "tools/dataset/reading/delimited_text.h"

namespace fgnn {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;

class DelimitedReaderTest : public ImportTest {
 protected:
  // Fields joined by '|', records by '/'; or the error.
  std::string Parse(const std::string& text, char separator = ',') {
    absl::StatusOr<DelimitedReader> reader =
        DelimitedReader::Open(Write("t.csv", text), separator);
    if (!reader.ok()) return std::string(reader.status().message());
    std::string result;
    for (;;) {
      const absl::StatusOr<bool> more = reader->Next();
      if (!more.ok()) return std::string(more.status().message());
      if (!*more) return result;
      for (const std::string_view field : reader->fields()) {
        result += std::string(field) + "|";
      }
      result += "/";
    }
  }
};

TEST_F(DelimitedReaderTest, SplitsPlainAndQuotedFields) {
  EXPECT_EQ(Parse("a,b\n1,2\n"), "a|b|/1|2|/");
  EXPECT_EQ(Parse("a,,\n,,b"), "a|||/||b|/");
  EXPECT_EQ(Parse("\"a,b\",c\r\n"), "a,b|c|/");
  EXPECT_EQ(Parse("\"say \"\"hi\"\"\",\"\"\n"), "say \"hi\"||/");
  EXPECT_EQ(Parse("\"two\nlines\",x\ny,z\n"), "two\nlines|x|/y|z|/");
  EXPECT_EQ(Parse("6\" tube,\"q\"\n"), "6\" tube|q|/");
  EXPECT_EQ(Parse("a\n\n\nb\n"), "a|/b|/");
  EXPECT_EQ(Parse("a;b,c", ';'), "a|b,c|/");
}

TEST_F(DelimitedReaderTest, NamesTheLineOfABadQuote) {
  EXPECT_THAT(Parse("a\n\"b\nc\n"),
              AllOf(HasSubstr("t.csv:2"), HasSubstr("never closes")));
  EXPECT_THAT(Parse("a\n1,\"b\"c\n"),
              AllOf(HasSubstr("t.csv:2"), HasSubstr("closing quote")));
}

class ImportCsvTest : public ImportTest {
 protected:
  ImportCsvTest() {
    source_.edges = Write("edges.csv", "source,destination\nx,y\ny,z\n");
  }
  absl::StatusOr<ImportSummary> Import(const std::string& nodes) {
    source_.nodes = {Write("nodes.csv", nodes)};
    return From(ImportCsv, source_);
  }
  void ExpectError(const std::string& nodes, const std::string& message) {
    EXPECT_THAT(Import(nodes).status().message(), HasSubstr(message));
    EXPECT_TRUE(NothingLeft());
  }
  CsvSource source_;
};

TEST_F(ImportCsvTest, TakesIdsLabelsSplitsAndFeaturesFromTheNodes) {
  const ImportSummary summary =
      Taken(Import("id,label,height,remark,weight,split\n"
                   "z,pear,1.5,\"a, b\",-2,train\n"
                   "y,apple,2,,3e1,test\n"
                   "x,,0,c,0,\n"
                   "w,pear,1,d,1,val\n"));

  EXPECT_EQ(summary.num_nodes, 4U);
  EXPECT_EQ(summary.feature_columns, 2U);
  EXPECT_THAT(summary.notes, Contains(HasSubstr("remark")));
  EXPECT_THAT(summary.notes,
              Contains(HasSubstr("columns of numbers: height, weight;")));
  EXPECT_EQ(ReadOut("names.txt"), "z\ny\nx\nw\n");
  EXPECT_EQ(ReadOut("class_names.txt"), "apple\npear\n");
  EXPECT_EQ(ReadOut("feature_names.txt"), "height\nweight\n");
  FGNN_ASSERT_OK_AND_ASSIGN(const DatasetInfo info,
                            ReadDatasetInfo(options_.out));
  EXPECT_THAT(FormatInfo(info), HasSubstr("largest: 1 pear (2), 0 apple (1)"));
  EXPECT_THAT(InfoToJson(info), HasSubstr("\"pear\""));
  EXPECT_THAT(ToVector(Out().labels()), ElementsAre(1, 0, -1, 1));
  EXPECT_THAT(ToVector(Out().train()), ElementsAre(0));
  EXPECT_THAT(ToVector(Out().valid()), ElementsAre(3));
  EXPECT_THAT(ToVector(Out().test()), ElementsAre(1));
  EXPECT_THAT(Features(1), ElementsAre(2, 30));
  EXPECT_THAT(InNeighbors(1), ElementsAre(2));  // x -> y.
  EXPECT_THAT(InNeighbors(0), ElementsAre(1));  // y -> z.
}

TEST_F(ImportCsvTest, NumericLabelsStayAndColumnsCanBeChosen) {
  source_.id_column = "name";
  source_.label_columns = {"kind"};
  source_.feature_columns = {"b", "a"};

  const ImportSummary summary =
      Taken(Import("name,kind,a,b,c\nx,3,1,2,9\ny,0.0,3,4,9\nz,-1,5,6,9\n"));

  EXPECT_EQ(summary.num_classes, 4U);
  EXPECT_THAT(ToVector(Out().labels()), ElementsAre(3, 0, -1));
  EXPECT_THAT(Features(0), ElementsAre(2, 1));
  EXPECT_THAT(summary.notes, Contains(HasSubstr("--train-fraction")));
}

TEST_F(ImportCsvTest, WithoutNodesIdsAreNumbersOrText) {
  source_.edges = WriteGz("e.csv.gz", "to;from;w\n1;0;0.5\n0;1;2\n");
  source_.separator = ';';
  source_.source_column = "from";
  source_.destination_column = "to";
  source_.weight_column = "w";
  FGNN_ASSERT_OK(From(ImportCsv, source_));
  EXPECT_THAT(InNeighbors(1), ElementsAre(0));
  EXPECT_THAT(Out().edge_weights(), ElementsAre(2.0F, 0.5F));

  source_.string_ids = true;
  FGNN_ASSERT_OK(From(ImportCsv, source_));
  EXPECT_EQ(ReadOut("names.txt"), "0\n1\n");
}

TEST_F(ImportCsvTest, BadNodesAreNamed) {
  ExpectError("", "nodes.csv: is empty");
  ExpectError("Id,label\nx,1\n", "no column 'id' (did you mean 'Id'?)");
  ExpectError("id;label\nx;1\n", "Pass --separator ';'");
  ExpectError("id\nx\ny\nx\n", "nodes.csv:4: vertex 'x' is there twice");
  ExpectError("id,a\nx,1\ny\n", "nodes.csv:3: 1 fields where 2");
  ExpectError("id,a\nx,1\ny,x\n", "nodes.csv:3: column 'a' holds 'x'");
  ExpectError("id,a\nx,1\n\ny,1\ny,2\n", "nodes.csv:5: vertex 'y' is there");
  ExpectError("id,a\nx,1\ny,inf\n", "nodes.csv:3: feature column 0");
  ExpectError("id,label,split\nx,1,dev\n", "nodes.csv:2: column 'split'");
  ExpectError("id,label,split\nx,,train\ny,1,\nz,1,\n", "has no label");
  ExpectError("id\nx\ny\nz\n\"two\nlines\"\n", "names.txt: line 4 would hold");
  ExpectError("id\nx\ny\n", "edges.csv:3: vertex 'z' is not in the nodes file");
}

TEST_F(ImportCsvTest, AnUnknownFeatureColumnIsNamed) {
  source_.feature_columns = {"hight"};
  ExpectError("id,height\nx,1\n", "no column 'hight' (did you mean 'height'?)");
}

TEST_F(ImportCsvTest, BadEdgesAreNamed) {
  source_.edges = Write("edges.csv", "src,dst\n0,1\n");
  EXPECT_THAT(
      From(ImportCsv, source_),
      StatusIs(absl::StatusCode::kNotFound,
               AllOf(HasSubstr("src, dst"), HasSubstr("--source-column"))));
  source_.source_column = "src";
  source_.destination_column = "dst";
  source_.edges = Write("edges.csv", "");
  EXPECT_THAT(From(ImportCsv, source_),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("edges.csv: is empty")));
  source_.edges = Write("edges.csv", "src,dst\n0,1\n0,1,2\n");
  EXPECT_THAT(
      From(ImportCsv, source_),
      StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("edges.csv:3")));
  source_.edges = Write("edges.csv", "src,dst,w\n0,1,\n");
  source_.weight_column = "w";
  EXPECT_THAT(
      From(ImportCsv, source_),
      StatusIs(absl::StatusCode::kInvalidArgument,
               HasSubstr("edges.csv: line 2: weight is missing (empty 1), "
                         "in 1 of 1 edges; --fill 1")));
  EXPECT_TRUE(NothingLeft());
}

}  // namespace
}  // namespace fgnn
