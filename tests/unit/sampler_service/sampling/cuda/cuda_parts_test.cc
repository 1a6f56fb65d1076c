// Parts of batches that an emulated device draws are those of the CPU's
// batches, in every bit.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "sampler_service/split/part_sampler.h"
#include "tests/unit/sampler_service/sampling/algorithm_jobs.h"
#include "tests/unit/sampler_service/sampling/cuda/cuda_case.h"
#include "tests/unit/sampler_service/split/split_case.h"

namespace fgnn {
namespace {

using reference::CscGraph;
using reference::Job;
using reference::RandomGraph;

class CudaPartsTest : public testing::TestWithParam<Algorithm> {};

TEST_P(CudaPartsTest, EqualThoseOfTheCpusBatches) {
  for (uint64_t seed = 0; seed < CudaRounds(6); ++seed) {
    SCOPED_TRACE(absl::StrCat("seed=", seed));
    const CscGraph graph =
        RandomGraph(5 + static_cast<uint32_t>(seed * 7), seed);
    const auto num_nodes = static_cast<uint32_t>(graph.lists().size());
    Job job = RandomJobOf(GetParam(), graph, seed);
    // Of weighted draws without replacement a device takes small fanouts.
    for (int32_t& fanout : job.options.fanouts) {
      fanout = fanout < 0 ? 16 : std::min(fanout, 32);
    }
    job.options.batch_dependency = 1 + static_cast<uint32_t>(seed % 3);
    SamplerCase cpu(graph, job);
    CudaCase cuda(graph, job, {});
    const TestBook book = RandomBook(num_nodes, kFineParts, seed);
    const uint32_t num_parts = seed % 2 == 0 ? 2 : 4;
    PartSampler parts(book.get(), {.num_parts = num_parts,
                                   .job_key = kJobKey,
                                   .bound_bytes = cuda.block().size(),
                                   .usual_bytes = cuda.block().size()});
    BatchSplitter splitter(book.get(), num_parts);
    for (const uint64_t seq : {uint64_t{0}, cpu.batches_per_epoch() - 1}) {
      const OrderedBatch batch{.seq = BatchSeq(seq), .drawn = BatchSeq(seq)};
      ASSERT_THAT(parts.Sample(cuda.sampler(), batch), IsOk());
      ASSERT_THAT(splitter.Prepare(cpu.Task(BatchSeq(seq))), IsOk());
      for (uint32_t p = 0; p < num_parts; ++p) {
        SCOPED_TRACE(absl::StrCat("part=", p));
        const uint64_t bytes = splitter.BytesOf(p);
        TaskBlock expected(bytes);
        TaskBlock drawn(bytes);
        ASSERT_THAT(splitter.Write(p, kJobKey, {}, expected.span()), IsOk());
        ASSERT_THAT(parts.Write(p, drawn.span()), IsOk());
        FGNN_ASSERT_OK_AND_ASSIGN(const TaskView left,
                                  ReadTask(expected.span(), kJobKey));
        FGNN_ASSERT_OK_AND_ASSIGN(const TaskView right,
                                  ReadTask(drawn.span(), kJobKey));
        EXPECT_EQ(left.batch_digest, right.batch_digest);
        // Behind the header, which has the seconds.
        EXPECT_EQ(std::memcmp(expected.span().data() + sizeof(TaskHeader),
                              drawn.span().data() + sizeof(TaskHeader),
                              bytes - sizeof(TaskHeader)),
                  0);
      }
    }
    if (testing::Test::HasFailure()) break;
  }
}

INSTANTIATE_TEST_SUITE_P(Algorithms, CudaPartsTest,
                         testing::ValuesIn(Algorithms()),
                         [](const auto& of) { return of.param.name; });

}  // namespace
}  // namespace fgnn
