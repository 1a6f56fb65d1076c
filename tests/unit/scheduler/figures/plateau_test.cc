#include "scheduler/figures/plateau.h"

#include <gtest/gtest.h>

#include <optional>
#include <vector>

#include "tests/fakes/default_job.h"

namespace fgnn {
namespace {

double FactorAfter(std::vector<std::optional<double>> valid_accuracies) {
  TrainingSpec training = DefaultJob().training;
  training.schedule = "plateau";
  training.plateau_epochs = 2;
  Plateau plateau(training);
  for (const auto& accuracy : valid_accuracies) plateau.Add(accuracy);
  return plateau.factor();
}

TEST(PlateauTest, EachPlateauTakesATenth) {
  EXPECT_EQ(FactorAfter({}), 1);
  EXPECT_EQ(FactorAfter({0.5, 0.5}), 1);
  EXPECT_EQ(FactorAfter({0.5, 0.5, 0.4}), 0.1);
  EXPECT_EQ(FactorAfter({0.5, 0.5, 0.4, 0.5}), 0.1);
  EXPECT_EQ(FactorAfter({0.5, 0.5, 0.4, 0.5, 0.5}), 0.1 / 10);
}

TEST(PlateauTest, ABetterEpochEndsAPlateau) {
  EXPECT_EQ(FactorAfter({0.5, 0.4, 0.6, 0.4}), 1);
  EXPECT_EQ(FactorAfter({0.5, 0.4, 0.4, 0.6, 0.6}), 0.1);
  EXPECT_EQ(FactorAfter({0.5, 0.4, 0.4, 0.6, 0.6, 0.6}), 0.1 / 10);
}

TEST(PlateauTest, EpochsThatWereNotValidatedPassButSayNothing) {
  EXPECT_EQ(FactorAfter({std::nullopt, 0.5, std::nullopt, std::nullopt}), 1);
  EXPECT_EQ(FactorAfter({std::nullopt, 0.5, std::nullopt, std::nullopt, 0.4}),
            0.1);
}

TEST(PlateauTest, OtherSchedulesStay) {
  TrainingSpec training = DefaultJob().training;
  training.plateau_epochs = 1;
  Plateau plateau(training);
  for (const double falling : {0.5, 0.4, 0.3}) plateau.Add(falling);
  EXPECT_EQ(plateau.factor(), 1);
}

}  // namespace
}  // namespace fgnn
