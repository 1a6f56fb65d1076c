#include "tools/fgnn/reports/epoch_report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace fgnn {
namespace {

using testing::HasSubstr;

EpochMetrics Line(double seconds, double sample) {
  return {{"batches", 4},
          {"seconds", seconds},
          {"stages", {{"sample", sample}, {"train", 3.0}}}};
}

EpochReport SmallReport(std::vector<EpochMetrics> epochs) {
  EpochReport report;
  report.spec.mutable_model()->set_kind("gcn");
  report.spec.mutable_model()->set_layers(2);
  report.spec.mutable_model()->set_hidden(16);
  report.spec.mutable_sampling()->add_fanouts(15);
  report.spec.mutable_sampling()->add_fanouts(-1);
  report.spec.mutable_sampling()->set_batch_size(1024);
  report.spec.mutable_training()->set_precision("bf16");
  report.spec.add_devices("cpu:0-1");
  report.epochs = std::move(epochs);
  return report;
}

TEST(EpochReportTest, NamesEveryField) {
  const nlohmann::ordered_json json = ToJson(SmallReport({Line(2, 1)}));
  std::vector<std::string> names;
  for (const auto& [name, value] : json.items()) names.push_back(name);
  EXPECT_THAT(names, testing::ElementsAre(
                         "model", "layers", "hidden", "fanouts", "batch_size",
                         "precision", "devices", "epochs", "batches", "seconds",
                         "milliseconds_per_batch", "stages"));
  EXPECT_EQ(json["fanouts"], (std::vector<int>{15, -1}));
  EXPECT_EQ(json["milliseconds_per_batch"], 500.0);
}

TEST(EpochReportTest, TakesTheMedianOfEachFigure) {
  const nlohmann::ordered_json odd =
      ToJson(SmallReport({Line(9, 1), Line(2, 5), Line(3, 4)}));
  EXPECT_EQ(odd["seconds"], 3.0);
  EXPECT_EQ(odd["stages"]["sample"], 4.0);
  EXPECT_EQ(odd["epochs"], 3);
  const nlohmann::ordered_json even =
      ToJson(SmallReport({Line(9, 1), Line(2, 5), Line(3, 4), Line(5, 3)}));
  EXPECT_EQ(even["seconds"], 4.0);
  EXPECT_EQ(even["stages"]["sample"], 3.5);
}

TEST(EpochReportTest, SaysWhatWasRunAndTheStages) {
  const std::string text = ToText(SmallReport({Line(2, 1)}));
  EXPECT_THAT(text, HasSubstr("gcn, 2 layers of 16, bf16, [15, -1], 1,024 "
                              "seeds a batch, on cpu:0-1\n500.00 ms a batch"));
  EXPECT_THAT(text, HasSubstr("sample    1.000  25.0 %"));
}

}  // namespace
}  // namespace fgnn
