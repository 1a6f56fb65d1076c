#include "trainer_service/infer/files/csv_fields.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "tests/unit/shared/graph/dataset_folder.h"

namespace fgnn {
namespace {

class CsvFieldsTest : public DatasetTest {
 protected:
  // Returns the columns of a vertex with a role, and the fields of vertex 1.
  std::string Lines(const std::string& role) {
    Write();
    const Dataset dataset =
        Dataset::Open(folder(), Validation::kShapes).value();
    std::string lines;
    AppendVertexHeading(role, dataset, &lines);
    lines.push_back('\n');
    AppendVertex(1, dataset, &lines);
    return lines;
  }
};

TEST_F(CsvFieldsTest, AVertexIsItsIdAndItsName) {
  EXPECT_EQ(Lines(""), "id,name\n1,one");
  EXPECT_EQ(Lines("neighbour"), "neighbour,neighbour_name\n1,one");
}

TEST_F(CsvFieldsTest, AVertexOfAKindHasTheKindAndTheIdInPlaceOfTheName) {
  content_.metadata.kinds = {"userId", "movieId"};
  content_.names = "userId:5\nmovieId:5\nuserId:7\nmovieId:7\n";
  EXPECT_EQ(Lines(""), "vertex,kind,id\n1,movieId,5");
  EXPECT_EQ(Lines("source"), "source,source_kind,source_id\n1,movieId,5");
}

TEST_F(CsvFieldsTest, EachPartOfANameIsAFieldOfItsOwn) {
  content_.metadata.kinds = {"user", "movie, made"};
  content_.names = "user:5\nmovie, made:=1+\"a\"\nuser:7\nuser:8\n";
  EXPECT_EQ(Lines(""), "vertex,kind,id\n1,\"movie, made\",\"'=1+\"\"a\"\"\"");
}

TEST_F(CsvFieldsTest, ANameOfNoKindIsAnIdAlone) {
  content_.metadata.kinds = {"user", "movie"};
  EXPECT_EQ(Lines(""), "vertex,kind,id\n1,,one");
}

}  // namespace
}  // namespace fgnn
