#include "shared/graph/untrained_classes.h"

#include "tests/unit/shared/graph/dataset_folder.h"

namespace fgnn {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

class UntrainedClassesTest : public DatasetTest {
 protected:
  Dataset Open() {
    Write();
    absl::StatusOr<Dataset> dataset =
        Dataset::Open(folder(), Validation::kEverything);
    EXPECT_THAT(dataset, IsOk());
    return *std::move(dataset);
  }
};

TEST_F(UntrainedClassesTest, AreThoseOfNoTrainVertex) {
  // Labels are 0, 2, none, 1.
  EXPECT_THAT(FindUntrainedClasses(Open()).value(), ElementsAre(2));
  content_.train = {1};
  content_.valid = {3};
  EXPECT_THAT(FindUntrainedClasses(Open()).value(), ElementsAre(0, 1));
  // More vertices than classes.
  content_.labels = {0, 0, 0, 0};
  content_.train = {0, 1, 2, 3};
  content_.valid = {};
  EXPECT_THAT(FindUntrainedClasses(Open()).value(), ElementsAre(1, 2));
}

TEST_F(UntrainedClassesTest, NoneWhereEveryClassIsTrained) {
  content_.train = {0, 1, 3};
  content_.valid = {};
  const Dataset dataset = Open();
  EXPECT_THAT(FindUntrainedClasses(dataset).value(), IsEmpty());
  EXPECT_EQ(UntrainedClassesWarning(dataset).value(), std::nullopt);
}

TEST_F(UntrainedClassesTest, NoneWithoutTrainVerticesOrLabels) {
  content_.train = {};
  EXPECT_EQ(UntrainedClassesWarning(Open()).value(), std::nullopt);
}

TEST_F(UntrainedClassesTest, TheWarningCountsWhatIsScored) {
  content_.train = {0};
  content_.test = {3};
  EXPECT_THAT(
      UntrainedClassesWarning(Open()).value().value_or(""),
      AllOf(HasSubstr((folder() / "train.npy").string()),
            HasSubstr("2 of 3 classes (1, 2)"), HasSubstr("2 vertices")));
  content_.metadata.num_classes = 100;
  EXPECT_THAT(
      UntrainedClassesWarning(Open()).value().value_or(""),
      AllOf(HasSubstr("99 of 100 classes (1, 2, 3, 4, 5, 6, 7, 8, 9, 10, …)"),
            HasSubstr("2 vertices"), Not(HasSubstr("\n"))));
}

TEST_F(UntrainedClassesTest, AreThoseOfNoTrainVerticesSet) {
  content_.metadata.num_classes = 0;
  content_.metadata.target_columns = 3;
  content_.metadata.target_type = TargetType::kBits;
  content_.train = {3, 0};
  content_.valid = {1};
  content_.test = {2};
  Write();
  std::filesystem::remove(folder() / "labels.npy");
  const std::vector<uint8_t> sets = {0, 1, 0, 1, 1, 0, 0, 0, 0, 0, 0, 0};
  WriteArray(folder() / "targets.npy", NpyType::kU8, sets, {3});
  FGNN_ASSERT_OK_AND_ASSIGN(const Dataset dataset,
                            Dataset::Open(folder(), Validation::kEverything));
  EXPECT_THAT(FindUntrainedClasses(dataset).value(), ElementsAre(0, 2));
  EXPECT_THAT(UntrainedClassesWarning(dataset).value().value_or(""),
              AllOf(HasSubstr("2 of 3 classes (0, 2)"),
                    HasSubstr("1 vertices of them")));
}

}  // namespace
}  // namespace fgnn
