#include "scheduler/run/hosts/preflight.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "tests/fakes/status_matchers.h"

namespace fgnn {
namespace {

JobHosts ThreeHosts() {
  return {.all = {{.name = "head", .exchange = "a:1", .num_places = 2},
                  {.name = "host1", .exchange = "b:1", .num_places = 1},
                  {.name = "host2", .exchange = "c:1", .num_places = 0}}};
}

class PreflightTest : public testing::Test {
 protected:
  void HasArithmetic(const std::string& host, const std::string& kind,
                     uint32_t gradient_crc, uint32_t step_crc) {
    preflight_.Take(host, {.arithmetic = {.kind = kind,
                                          .gradient_crc = gradient_crc,
                                          .step_crc = step_crc}});
  }

  Preflight preflight_{ThreeHosts()};
};

TEST_F(PreflightTest, HostsThatHaveNotMeasuredAreFine) {
  EXPECT_THAT(preflight_.Check(), IsOk());
  HasArithmetic("head", "cores", 1, 2);
  preflight_.Take("host1", {});
  HasArithmetic("host2", "cores", 1, 2);
  EXPECT_THAT(preflight_.Check(), IsOk());
}

TEST_F(PreflightTest, OtherGradientsOfHostsThatTrainAreRefused) {
  HasArithmetic("head", "cores", 1, 2);
  HasArithmetic("host1", "cores", 0xabcdef, 2);
  EXPECT_THAT(preflight_.Check(),
              FailedPrecondition("head has cores, 0x00000001",
                                 "host1 has cores, 0x00abcdef",
                                 "no places by hosts.shares"));
}

TEST_F(PreflightTest, AnotherKindIsRefusedEvenWithTheSameGradient) {
  HasArithmetic("host1", "NVIDIA H200", 1, 2);
  HasArithmetic("head", "cores", 1, 2);
  EXPECT_THAT(preflight_.Check(),
              FailedPrecondition("head has cores", "host1 has NVIDIA H200"));
}

TEST_F(PreflightTest, AHostWithoutPlacesHasToMakeTheSameStepsAlone) {
  HasArithmetic("head", "cores", 1, 2);
  HasArithmetic("host2", "NVIDIA H200", 7, 2);
  EXPECT_THAT(preflight_.Check(), IsOk());
  HasArithmetic("host2", "cores", 1, 3);
  EXPECT_THAT(preflight_.Check(),
              FailedPrecondition("head has cores, 0x00000002",
                                 "host2 has cores, 0x00000003",
                                 "leave the devices of one of them out"));
}

}  // namespace
}  // namespace fgnn
