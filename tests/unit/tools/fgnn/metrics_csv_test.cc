#include "tools/fgnn/reports/metrics_csv.h"

#include <gtest/gtest.h>

namespace fgnn {
namespace {

TEST(MetricsCsvTest, HasAColumnForEachKey) {
  EXPECT_EQ(MetricsCsv({EpochMetrics::parse(
                            R"({"epoch":1,"loss":0.1,"valid_accuracy":null,
                                "stages":{"sample":1e-5,"train":2},
                                "devices":[{"device":"cpu:0"}]})"),
                        EpochMetrics::parse(
                            R"({"epoch":2,"loss":3,"valid_accuracy":0.5,
                                "stages":{"train":1},"note":"a, \"b\""})")}),
            "epoch,loss,valid_accuracy,stages.sample,stages.train,note\n"
            "1,0.1,,1e-05,2,\n"
            "2,3,0.5,,1,\"a, \"\"b\"\"\"\n");
}

}  // namespace
}  // namespace fgnn
