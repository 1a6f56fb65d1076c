#include "sampler_service/sampling/profile.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <cstdint>
#include <functional>
#include <numeric>
#include <vector>

#include "sampler_service/sampling/cpu/cpu_sampler.h"
#include "tests/fakes/status_matchers.h"

namespace fgnn {
namespace {

using testing::ElementsAre;

// Vertex v has the one neighbour v + 1, so that batches have known sizes.
class RingProfileTest : public testing::Test {
 protected:
  RingProfileTest() : indptr_(kNumNodes + 1), indices_(kNumNodes) {
    std::iota(indptr_.begin(), indptr_.end(), 0);
    std::iota(indices_.begin(), indices_.end(), 1);
    indices_.back() = 0;
    for (int64_t seed = 0; seed < 40; ++seed) train_.push_back(100 * seed);
  }

  absl::StatusOr<SamplingProfile> Profile(uint32_t num_threads,
                                          uint64_t order_bytes = 0) {
    SamplerOptions sampling;
    sampling.fanouts = {2, 2, 2};
    sampling.batch_size = 10;
    return ProfileSampling(
        {.graph = {.indptr = indptr_, .indices = indices_}, .train = train_},
        sampling,
        {.num_batches = 4,
         .num_threads = num_threads,
         .order_bytes = order_bytes,
         .factory = NewCpuSampler,
         .available = available_,
         .check = nullptr});
  }

  static constexpr uint64_t kNumNodes = 1 << 20;
  std::vector<int64_t> indptr_;
  std::vector<uint32_t> indices_;
  std::vector<int64_t> train_;
  std::function<absl::StatusOr<uint64_t>()> available_ = [] {
    return AvailableMemoryBytes();
  };
};

TEST_F(RingProfileTest, HopsAreThoseOfTheLargestBatches) {
  FGNN_ASSERT_OK_AND_ASSIGN(const SamplingProfile seen, Profile(2));
  EXPECT_THAT(seen.hops, ElementsAre(HopSize{10, 20, 10}, HopSize{20, 30, 20},
                                     HopSize{30, 40, 30}));
  EXPECT_EQ(seen.max_input_nodes, 40U);
  EXPECT_EQ(seen.max_edges, 60U);
}

TEST_F(RingProfileTest, TablesCountAsTheyAreOnceAllVerticesWereMet) {
  for (const uint32_t num_threads : {1, 3}) {
    FGNN_ASSERT_OK_AND_ASSIGN(const SamplingProfile seen, Profile(num_threads));
    EXPECT_EQ(seen.num_threads, num_threads);
    // A word for each vertex, of which these batches met 160.
    EXPECT_GE(seen.workspace_bytes, num_threads * kNumNodes * 4);
    EXPECT_GT(seen.program_bytes, 0U);
  }
}

// Later there is less, as threads have touched tables that count already.
TEST_F(RingProfileTest, LooksAtTheMemoryBeforeItsThreadsTakeAny) {
  std::atomic<int> looks = 0;
  available_ = [&looks]() -> absl::StatusOr<uint64_t> {
    return looks++ == 0 ? AvailableMemoryBytes() : uint64_t{0};
  };
  EXPECT_THAT(Profile(3), IsOk());
  EXPECT_EQ(looks, 1);
  available_ = [] { return absl::StatusOr<uint64_t>(kNumNodes); };
  EXPECT_THAT(Profile(3), ResourceExhausted("lower sampling.threads"));
}

TEST_F(RingProfileTest, TheOrderOfBatchesIsPartOfTheWorkspace) {
  constexpr uint64_t kOrderBytes = uint64_t{1} << 40;
  FGNN_ASSERT_OK_AND_ASSIGN(const SamplingProfile seen,
                            Profile(1, kOrderBytes));
  EXPECT_GE(seen.workspace_bytes,
            kOrderBytes + seen.max_task_bytes + kNumNodes * 4);
}

}  // namespace
}  // namespace fgnn
