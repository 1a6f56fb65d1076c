#include "sampler_service/sampling/input_node_tally.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/fakes/status_matchers.h"

namespace fgnn {
namespace {

using testing::ElementsAre;

std::vector<uint32_t> CountsOf(const InputNodeTally& tally, size_t num_nodes) {
  std::vector<uint32_t> counts(num_nodes);
  tally.AddTo(absl::MakeSpan(counts));
  return counts;
}

TEST(InputNodeTallyTest, CountsAVertexOnceABatch) {
  FGNN_ASSERT_OK_AND_ASSIGN(InputNodeTally tally, InputNodeTally::Create(4));
  tally.StartBatch();
  tally.Add({2, 0, 2});
  tally.Add({2, 3});
  tally.StartBatch();
  tally.Add({2, 2});
  EXPECT_THAT(CountsOf(tally, 4), ElementsAre(1, 0, 2, 1));
}

TEST(InputNodeTallyTest, AddsToWhatIsThere) {
  FGNN_ASSERT_OK_AND_ASSIGN(InputNodeTally tally, InputNodeTally::Create(2));
  tally.StartBatch();
  tally.Add({1});
  std::vector<uint32_t> sum = {5, 6};
  tally.AddTo(absl::MakeSpan(sum));
  EXPECT_THAT(sum, ElementsAre(5, 7));
}

// Stamps have 16 bits: vertex 0 is in all batches, 1 in one of a thousand, 2
// in the first and in the one that gets the first's stamp again.
TEST(InputNodeTallyTest, StampsThatBeginAnewLoseNothing) {
  constexpr uint32_t kNumBatches = 200'000;
  constexpr uint32_t kNumStamps = 65'535;
  FGNN_ASSERT_OK_AND_ASSIGN(InputNodeTally tally, InputNodeTally::Create(3));
  for (uint32_t batch = 0; batch < kNumBatches; ++batch) {
    tally.StartBatch();
    tally.Add({0, 0});
    if (batch % 1000 == 0) tally.Add({1});
    if (batch == 0 || batch == kNumStamps) tally.Add({2});
  }
  EXPECT_THAT(CountsOf(tally, 3), ElementsAre(kNumBatches, 200, 2));
}

}  // namespace
}  // namespace fgnn
