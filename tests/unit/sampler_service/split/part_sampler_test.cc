#include "sampler_service/split/part_sampler.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "tests/unit/sampler_service/sampling/sampler_case.h"
#include "tests/unit/sampler_service/split/split_case.h"

namespace fgnn {
namespace {

using reference::CscGraph;
using reference::RandomGraph;

class PartSamplerTest : public testing::Test {
 protected:
  static constexpr uint32_t kNumNodes = 100;
  static constexpr uint32_t kNumParts = 3;

  void SetUp() override {
    auto id_map = DirectIdMap::Create(
        kNumNodes, MaxBatchNodes(whole_.input().graph, whole_.job().options));
    ASSERT_THAT(id_map, IsOk());
    FGNN_ASSERT_OK_AND_ASSIGN(
        sampler_,
        NewCpuSamplerOf({*std::move(id_map), SupportedDrawLanes().front()},
                        whole_.input(), whole_.job().options));
    FGNN_ASSERT_OK_AND_ASSIGN(sampled_, whole_.Sample(BatchSeq(0)));
  }

  PartSampler MakeParts(uint64_t usual_bytes) const {
    return PartSampler(book_.get(), {.num_parts = kNumParts,
                                     .job_key = kJobKey,
                                     .bound_bytes = 1 << 20,
                                     .usual_bytes = usual_bytes});
  }
  // Samples a batch and expects the parts of that batch.
  void ExpectParts(PartSampler& parts) {
    FGNN_ASSERT_OK_AND_ASSIGN(
        const SampledTask sampled,
        parts.Sample(*sampler_, {.seq = BatchSeq(0), .drawn = BatchSeq(0)}));
    EXPECT_EQ(sampled.digest, sampled_.digest);
    for (uint32_t p = 0; p < kNumParts; ++p) {
      TaskBlock block(1 << 20);
      FGNN_ASSERT_OK(parts.Write(p, block.span()));
      FGNN_ASSERT_OK_AND_ASSIGN(const TaskView part,
                                ReadTask(block.span(), kJobKey));
      ExpectShows(part, definition_.Part(p));
    }
  }

  const CscGraph graph_ = RandomGraph(kNumNodes, 5);
  const TestBook book_ = RandomBook(kNumNodes, kFineParts, 5);
  SamplerCase whole_{graph_, RandomJob(kNumNodes, 5)};
  const TaskView view_ = whole_.Task(BatchSeq(0));
  const PartsByDefinition definition_{view_, book_.OwnersOf(view_, kNumParts),
                                      kNumParts};
  std::unique_ptr<Sampler> sampler_;
  SampledTask sampled_;
};

TEST_F(PartSamplerTest, MemoryIsKeptForUsualBatches) {
  PartSampler parts = MakeParts(sampled_.bytes);
  ExpectParts(parts);
  // It does not grow up to them by sampling again and again.
  EXPECT_LT(parts.whole().size(), sampled_.bytes + 64);
  const std::byte* const memory = parts.whole().data();
  parts.EndBatch();
  EXPECT_EQ(parts.whole().data(), memory);
  ExpectParts(parts);
}

// Else each thread of a sampler has memory for the largest of all batches in
// the end, which nobody has planned.
TEST_F(PartSamplerTest, MemoryOfALargerBatchIsGivenBack) {
  PartSampler parts = MakeParts(sampled_.bytes - 1);
  for (int batch = 0; batch < 2; ++batch) {
    ExpectParts(parts);
    EXPECT_FALSE(parts.whole().empty());
    parts.EndBatch();
    EXPECT_TRUE(parts.whole().empty());
  }
}

// Its caller may have ended early, and begun a smaller batch.
TEST_F(PartSamplerTest, MemoryOfALargerBatchIsGivenBackBehindASmallerOne) {
  FGNN_ASSERT_OK_AND_ASSIGN(const SampledTask other,
                            whole_.Sample(BatchSeq(1)));
  ASSERT_NE(other.bytes, sampled_.bytes);
  PartSampler parts = MakeParts(std::min(other.bytes, sampled_.bytes));
  const BatchSeq large(other.bytes > sampled_.bytes ? 1 : 0);
  for (const BatchSeq seq : {large, BatchSeq(1 - large.value())}) {
    FGNN_ASSERT_OK(parts.Sample(*sampler_, {.seq = seq, .drawn = seq}));
  }
  parts.EndBatch();
  EXPECT_TRUE(parts.whole().empty());
}

}  // namespace
}  // namespace fgnn
