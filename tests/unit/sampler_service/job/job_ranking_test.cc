#include "sampler_service/job/job_ranking.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <vector>

#include "sampler_service/presample/input_node_counts.h"
#include "shared/base/files/file.h"
#include "shared/graph/rank_order.h"
#include "tests/fakes/status_matchers.h"
#include "tests/fakes/temp_folder.h"
#include "tests/unit/sampler_service/daemon/small_job.h"

namespace fgnn {
namespace {

// A job whose batches share draws, and the same job without that.
class JobRankingTest : public testing::Test {
 protected:
  JobSpec SpecOf(const std::string& policy, uint32_t dependency) const {
    JobSpec spec = job_.spec();
    spec.cache.policy = policy;
    spec.cache.epochs = 1;
    spec.sampling.batch_dependency = dependency;
    return spec;
  }
  JobSampling Open(const JobSpec& spec) const {
    return OpenJobSampling(spec, {.job_key = job_.job_key()}).value();
  }
  std::vector<uint32_t> Counted(const JobSpec& spec) const {
    const std::filesystem::path path = folder_ / "counts";
    EXPECT_THAT(CountPart(spec, Open(spec), {.path = path, .check = nullptr}),
                IsOk());
    const std::string bytes = ReadSmallFile(path).value();
    std::vector<uint32_t> counts(bytes.size() / sizeof(uint32_t));
    std::memcpy(counts.data(), bytes.data(), bytes.size());
    return counts;
  }
  // Returns the counts of the job's batches as trainers get them.
  std::vector<uint32_t> CountsOfItsBatches(const JobSpec& spec) const {
    const JobSampling job = Open(spec);
    return CountInputNodes(
               job.input(), job.options,
               {.batches = {BatchSeq(0), BatchSeq(job_.num_batches())},
                .num_threads = 1,
                .factory = job.factory,
                .check = nullptr})
        .value();
  }
  uint64_t KeyOf(const JobSpec& spec) const {
    return MakeRankOrder(spec, Open(spec), {})->key;
  }

  SmallJob job_;
  TempFolder folder_;
};

TEST_F(JobRankingTest, PresampledBatchesDrawForThemselves) {
  EXPECT_EQ(Counted(SpecOf("presc", 8)), Counted(SpecOf("presc", 1)));
}

TEST_F(JobRankingTest, TheOptimumCountsTheBatchesThatAreTrained) {
  const JobSpec sharing = SpecOf("optimal", 8);
  EXPECT_EQ(Counted(sharing), CountsOfItsBatches(sharing));
  EXPECT_NE(Counted(sharing), Counted(SpecOf("optimal", 1)));
}

// So the next job finds them, whatever its windows.
TEST_F(JobRankingTest, OrdersOfPresampledBatchesServeJobsOfAllWindows) {
  for (const std::string policy : {"presc", "vip", "auto"}) {
    EXPECT_EQ(KeyOf(SpecOf(policy, 8)), KeyOf(SpecOf(policy, 1))) << policy;
  }
  EXPECT_NE(KeyOf(SpecOf("optimal", 8)), KeyOf(SpecOf("optimal", 1)));
}

TEST_F(JobRankingTest, AutoMakesTheSameOrderForAllWindows) {
  std::vector<std::vector<GlobalId>> orders;
  for (const uint32_t dependency : {1, 8}) {
    const JobSpec spec = SpecOf("auto", dependency);
    const JobSampling job = Open(spec);
    const uint64_t key = KeyOf(spec);  // Makes it.
    FGNN_ASSERT_OK_AND_ASSIGN(const RankOrder order,
                              RankOrder::Open(job.dataset, key));
    orders.emplace_back(order.vertices().begin(), order.vertices().end());
    std::filesystem::remove(RankOrder::PathOf(job.dataset, key));
  }
  EXPECT_EQ(orders[0], orders[1]);
}

}  // namespace
}  // namespace fgnn
