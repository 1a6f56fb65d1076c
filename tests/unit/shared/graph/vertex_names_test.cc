#include "shared/graph/vertex_names.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <vector>

#include "tests/fakes/status_matchers.h"
#include "tests/unit/shared/graph/dataset_folder.h"

namespace fgnn {
namespace {

class VertexNamesTest : public DatasetTest {
 protected:
  VertexNamesTest() {
    content_.metadata.kinds = {"userId", "movieId"};
    content_.names = "userId:5\nmovieId:5\nuserId:7\nmovieId:the end\n";
  }

  Dataset Open() const {
    Write();
    return Dataset::Open(folder(), Validation::kShapes).value();
  }
};

TEST_F(VertexNamesTest, PartsOfANameAreItsKindAndItsId) {
  const std::vector<std::string> kinds = {"user", "userId"};
  const auto expect = [&](const std::string& name, const std::string& kind,
                          const std::string& id) {
    const VertexName parts = PartsOfName(name, kinds);
    EXPECT_EQ(parts.kind, kind) << name;
    EXPECT_EQ(parts.id, id) << name;
  };
  expect("userId:5", "userId", "5");
  expect("user:5", "user", "5");
  expect("user:a:b", "user", "a:b");
  expect("user:", "user", "");
  expect("movieId:5", "", "movieId:5");
  expect("userId", "", "userId");
  expect("", "", "");
}

TEST_F(VertexNamesTest, OnlyADatasetWithNamesHasKinds) {
  EXPECT_THAT(Open().kinds(), testing::ElementsAre("userId", "movieId"));
  std::filesystem::remove(folder() / "names.txt");
  EXPECT_THAT(Dataset::Open(folder(), Validation::kShapes)->kinds(),
              testing::IsEmpty());
  content_.metadata.kinds.clear();
  EXPECT_THAT(Open().kinds(), testing::IsEmpty());
}

TEST_F(VertexNamesTest, AWholeNameIsAlwaysFound) {
  const Dataset dataset = Open();
  const VertexFinder finder(dataset);
  EXPECT_EQ(finder.Find("userId:5").value(), 0U);
  EXPECT_EQ(finder.Find("movieId:5").value(), 1U);
  EXPECT_EQ(finder.Find("movieId:the end").value(), 3U);
}

TEST_F(VertexNamesTest, AnIdIsFoundIfOneKindAloneHasIt) {
  const Dataset dataset = Open();
  const VertexFinder finder(dataset);
  EXPECT_EQ(finder.Find("7").value(), 2U);
  EXPECT_EQ(finder.Find("the end").value(), 3U);
  EXPECT_THAT(finder.Find("5"), InvalidArgument("userId:5", "movieId:5",
                                                "; write the whole name"));
}

TEST_F(VertexNamesTest, AWholeNameComesBeforeAnEqualId) {
  content_.names = "userId:5\nmovieId:userId:5\nuserId:7\nmovieId:7\n";
  const Dataset dataset = Open();
  const VertexFinder finder(dataset);
  EXPECT_EQ(finder.Find("userId:5").value(), 0U);
  EXPECT_EQ(finder.Find("movieId:userId:5").value(), 1U);
}

TEST_F(VertexNamesTest, WhatNobodyIsCalledIsRefusedWithAnExample) {
  const Dataset dataset = Open();
  const VertexFinder finder(dataset);
  for (const std::string bad :
       {"8", "userId:8", "movieId:7", "userId", ":5", "05", "", "USERID:5"}) {
    EXPECT_THAT(
        finder.Find(bad),
        InvalidArgument("'" + bad + "' is no vertex",
                        (folder() / "names.txt").string(), "such as userId:5"))
        << bad;
  }
}

}  // namespace
}  // namespace fgnn
