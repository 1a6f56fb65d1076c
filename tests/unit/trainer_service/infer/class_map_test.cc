#include "trainer_service/infer/tables/class_map.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/fakes/status_matchers.h"

namespace fgnn {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

NamedClasses ModelClasses(uint32_t count,
                          const std::vector<std::string>& names) {
  return {count, names, "the model", "run/class_names.txt"};
}
NamedClasses Data(uint32_t count, const std::vector<std::string>& names) {
  return {count, names, "dataset d", "d/class_names.txt"};
}

TEST(MapClassesTest, GoesByNames) {
  FGNN_ASSERT_OK_AND_ASSIGN(
      const ClassMap map,
      MapClasses(ModelClasses(4, {"ant", "bee", "cat", "dog"}),
                 Data(3, {"bee", "cow", "dog"})));
  EXPECT_THAT(map.numbers, ElementsAre(-1, 0, -1, 2));
  EXPECT_THAT(map.names, ElementsAre("ant", "bee", "cat", "dog"));
  EXPECT_THAT(map.notice,
              AllOf(HasSubstr("numbered as in dataset d"),
                    HasSubstr("2 of the 4 classes of the model (ant, cat)")));
}

TEST(MapClassesTest, GoesByNamesWhereTheCountsAreEqual) {
  FGNN_ASSERT_OK_AND_ASSIGN(
      const ClassMap map,
      MapClasses(ModelClasses(2, {"ant", "bee"}), Data(2, {"bee", "ant"})));
  EXPECT_THAT(map.numbers, ElementsAre(1, 0));
}

TEST(MapClassesTest, SaysNothingOfTheSameClasses) {
  const std::vector<std::string> names = {"ant", "bee"};
  // The third class has no name on either side.
  FGNN_ASSERT_OK_AND_ASSIGN(const ClassMap map,
                            MapClasses(ModelClasses(3, names), Data(3, names)));
  EXPECT_THAT(map.numbers, ElementsAre(0, 1, 2));
  EXPECT_THAT(map.names, ElementsAre("ant", "bee", ""));
  EXPECT_THAT(map.notice, IsEmpty());
}

TEST(MapClassesTest, KeepsNumbersWithoutNames) {
  FGNN_ASSERT_OK_AND_ASSIGN(const ClassMap map,
                            MapClasses(ModelClasses(2, {}), Data(2, {})));
  EXPECT_THAT(map.numbers, ElementsAre(0, 1));
  EXPECT_THAT(map.notice, IsEmpty());
  // Without labels there is no other numbering.
  FGNN_ASSERT_OK_AND_ASSIGN(
      const ClassMap unlabelled,
      MapClasses(ModelClasses(2, {"a", "b"}), Data(0, {})));
  EXPECT_THAT(unlabelled.names, ElementsAre("a", "b"));
  EXPECT_THAT(unlabelled.notice, IsEmpty());
}

TEST(MapClassesTest, SaysWhatItAssumesIfOneSideHasNames) {
  FGNN_ASSERT_OK_AND_ASSIGN(
      const ClassMap map, MapClasses(ModelClasses(2, {}), Data(2, {"a", "b"})));
  EXPECT_THAT(map.numbers, ElementsAre(0, 1));
  EXPECT_THAT(map.names, ElementsAre("a", "b"));
  EXPECT_THAT(map.notice, AllOf(HasSubstr("the model has no names"),
                                HasSubstr("numbered as those of dataset d")));
}

TEST(MapClassesTest, RefusesOtherCountsWithoutNames) {
  EXPECT_THAT(MapClasses(ModelClasses(58, {}), Data(45, {})),
              InvalidArgument("the model has 58 classes and dataset d 45, and "
                              "neither has names",
                              "run/class_names.txt and d/class_names.txt"));
  EXPECT_THAT(
      MapClasses(ModelClasses(2, {"a", "b"}), Data(3, {})),
      InvalidArgument("dataset d has no names", "to d/class_names.txt"));
}

TEST(MapClassesTest, RefusesNamesOfWhichNoneIsKnown) {
  EXPECT_THAT(
      MapClasses(ModelClasses(2, {"a", "b"}), Data(2, {"A", "B"})),
      InvalidArgument("no class of the model (a, b)", "of dataset d (A, B)"));
}

TEST(CheckFeatureNamesTest, RefusesOtherColumns) {
  EXPECT_THAT(CheckFeatureNames({"x", "y"}, {"x", "y"}, "d"), IsOk());
  EXPECT_THAT(CheckFeatureNames({}, {"x", "y"}, "d"), IsOk());
  EXPECT_THAT(CheckFeatureNames({"x", "y"}, {}, "d"), IsOk());
  EXPECT_THAT(CheckFeatureNames({"x", "y"}, {"x", "z"}, "d"),
              InvalidArgument("feature column 1 of d is 'z', where the "
                              "model has 'y'"));
}

}  // namespace
}  // namespace fgnn
