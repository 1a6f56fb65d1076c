#include "trainer_service/sync/made_up_step.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <set>
#include <vector>

#include "tests/fakes/status_matchers.h"

namespace fgnn {
namespace {

TEST(MadeUpStepTest, IsTheSameForTheSameOptionsAlone) {
  std::vector<OptimizerOptions> all;
  for (const OptimizerKind kind :
       {OptimizerKind::kAdam, OptimizerKind::kAdamW, OptimizerKind::kSgd}) {
    for (const double clip_norm : {0.0, 1.0}) {
      all.push_back(
          {.kind = kind, .weight_decay = 0.01, .clip_norm = clip_norm});
    }
  }
  all.push_back({.kind = OptimizerKind::kSgd, .momentum = 0.9});
  all.push_back({.learning_rate = 0.002});
  std::set<uint32_t> crcs;
  for (const OptimizerOptions& options : all) {
    FGNN_ASSERT_OK_AND_ASSIGN(const uint32_t crc, CrcOfMadeUpStep(options));
    FGNN_ASSERT_OK_AND_ASSIGN(const uint32_t again, CrcOfMadeUpStep(options));
    EXPECT_EQ(crc, again);
    crcs.insert(crc);
  }
  EXPECT_EQ(crcs.size(), all.size());
}

}  // namespace
}  // namespace fgnn
