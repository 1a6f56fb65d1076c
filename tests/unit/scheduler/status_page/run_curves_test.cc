#include "scheduler/status_page/run_curves.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"

namespace fgnn {
namespace {

using nlohmann::ordered_json;
using testing::ElementsAre;

std::vector<std::string> Lines(int number) {
  std::vector<std::string> lines;
  for (int epoch = 1; epoch <= number; ++epoch) {
    lines.push_back(absl::StrCat(R"({"epoch":)", epoch, R"(,"loss":)", epoch,
                                 R"(.1,"stages":{"train":0.5,"wait":1}})"));
  }
  return lines;
}

// Returns a column of the rows.
std::vector<double> Column(const ordered_json& curves, size_t at) {
  std::vector<double> values;
  for (const ordered_json& row : curves["rows"]) {
    values.push_back(row.at(at).get<double>());
  }
  return values;
}

TEST(RunCurvesTest, NumbersAreThoseOfTheFile) {
  const ordered_json curves = CurvesOf(
      {R"({"epoch":1,"loss":0.30000000000000004,"valid_mrr":null,"seconds":2})",
       R"({"epoch":2,"loss":1e-7,"valid_mrr":0.25,"seconds":3,"other":1,
           "match_rate":0.125,"rows_loaded":900})"},
      /*most_rows=*/10);
  EXPECT_EQ(curves["count"], 2);
  EXPECT_EQ(curves["columns"],
            ordered_json({"epoch", "loss", "seconds", "match_rate",
                          "rows_loaded", "valid_mrr"}));
  EXPECT_EQ(curves["rows"], ordered_json::parse(R"([
      [1,0.30000000000000004,2,null,null,null],
      [2,1e-7,3,0.125,900,0.25]])"));
}

TEST(RunCurvesTest, ManyEpochsAreThinnedButTheLastOneStays) {
  const ordered_json curves = CurvesOf(Lines(10), /*most_rows=*/4);
  EXPECT_EQ(curves["count"], 10);
  EXPECT_EQ(curves["every"], 3);
  EXPECT_THAT(Column(curves, 0), ElementsAre(1, 4, 7, 10));
  EXPECT_THAT(Column(curves, 1), ElementsAre(1.1, 4.1, 7.1, 10.1));
  EXPECT_EQ(curves["stages"]["train"], 5.0);  // Of all ten epochs.
  EXPECT_LE(CurvesOf(Lines(1'000), 4)["rows"].size(), 4U);
}

TEST(RunCurvesTest, LinesThatAreNoObjectsAndFieldsOfOtherTypesAreLeftOut) {
  const ordered_json curves =
      CurvesOf({"[1]", "{\"epoch\":", R"({"epoch":1,"loss":"<b>","stages":3,
         "devices":[1,{"device":2},{"device":"cpu:0","plan":"sampler"}]})"},
               10);
  EXPECT_EQ(curves["count"], 1);
  EXPECT_EQ(curves["columns"], ordered_json({"epoch"}));
  EXPECT_EQ(curves["roles"],
            ordered_json::parse(R"([[["sampler",null,null]]])"));
}

TEST(RunCurvesTest, InventedNamesMakeTheAnswerNoLonger) {
  std::string devices;
  for (int i = 0; i < 100; ++i) {
    absl::StrAppend(&devices, i == 0 ? "" : ",", R"({"device":"d)", i,
                    R"(","plan":"sampler"})");
  }
  const ordered_json curves =
      CurvesOf({absl::StrCat(R"({"stages":{"x":1,"train":2},"devices":[)",
                             devices, "]}"),
                R"({"devices":[{"device":"e","plan":"sampler"}]})"},
               10);
  EXPECT_EQ(curves["stages"],
            ordered_json::parse(R"({"train":2.0,"evaluate":0.0})"));
  EXPECT_EQ(curves["devices"].size(), 64U);
  EXPECT_EQ(curves["roles"][0].size(), 64U);
  EXPECT_EQ(curves["roles"][1].size(), 0U);
}

TEST(RunCurvesTest, RolesAreInTheOrderOfTheDevicesNames) {
  const ordered_json curves = CurvesOf({R"({"epoch":1,"devices":[
            {"device":"a","plan":"sampler","sampled":5,"trained":0}]})",
                                        R"({"epoch":2,"devices":[
            {"device":"b","plan":"trainer","sampled":0,"trained":7},
            {"device":"a","plan":"lost","sampled":1,"trained":2}]})"},
                                       10);
  EXPECT_EQ(curves["devices"], ordered_json({"a", "b"}));
  EXPECT_EQ(curves["roles"], ordered_json::parse(R"([
      [["sampler",5,0]], [["lost",1,2],["trainer",0,7]]])"));
}

TEST(RunCurvesTest, ARunWithoutEpochsHasNone) {
  const ordered_json curves = CurvesOf({}, 10);
  EXPECT_EQ(curves["count"], 0);
  EXPECT_TRUE(curves["rows"].empty());
  EXPECT_TRUE(curves["stages"].empty());
}

}  // namespace
}  // namespace fgnn
