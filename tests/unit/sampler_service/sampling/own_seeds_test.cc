#include "sampler_service/sampling/own_seeds.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <set>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/unit/sampler_service/sampling/sampler_case.h"

namespace fgnn {
namespace {

using reference::CscGraph;
using reference::Job;
using reference::RandomGraph;

constexpr uint32_t kNumNodes = 500;

// Returns a job whose shares have these places. Fine parts hold unequal numbers
// of train vertices.
Job OwnJob(const std::vector<uint64_t>& places, uint64_t seed) {
  Job job = RandomJob(kNumNodes, seed);
  job.options.fanouts = {3};
  job.options.batch_size = 8;
  job.train.clear();
  for (uint32_t v = 0; v < kNumNodes; v += 2) job.train.push_back(v);
  reference::TestDraws draws(seed);
  for (size_t i = 0; i < job.train.size(); ++i) {
    const uint64_t below = 1 + draws.Below(kFineParts);
    job.parts_of_train.push_back(static_cast<uint8_t>(draws.Below(below)));
  }
  std::vector<HostOfShare> hosts;
  for (const uint64_t count : places) hosts.push_back({.num_places = count});
  job.seeds = MakeSeedShares(/*book=*/1, hosts);
  return job;
}

// Returns the seeds of the batches of an epoch.
std::vector<std::vector<uint32_t>> SeedsOfEpoch(SamplerCase& sampling,
                                                uint64_t epoch) {
  std::vector<std::vector<uint32_t>> seeds;
  const uint64_t batches = sampling.batches_per_epoch();
  for (uint64_t batch = 0; batch < batches; ++batch) {
    const TaskView task = sampling.Task(BatchSeq(epoch * batches + batch));
    seeds.emplace_back(task.seeds().begin(), task.seeds().end());
  }
  return seeds;
}

TEST(OwnSeedsTest, BatchesAreThoseOfTheReference) {
  const CscGraph graph = RandomGraph(kNumNodes, 3);
  for (const std::vector<uint64_t>& places : std::vector<std::vector<uint64_t>>{
           {1}, {1, 1}, {2, 1}, {1, 0, 3}, {1, 1, 1, 1}}) {
    SCOPED_TRACE(testing::PrintToString(places));
    SamplerCase sampling(graph, OwnJob(places, 5));
    const uint64_t batches = sampling.batches_per_epoch();
    for (uint64_t seq = 0; seq < 2 * batches; ++seq) {
      sampling.ExpectLikeReference(BatchSeq(seq));
    }
  }
}

TEST(OwnSeedsTest, OneShareHasTheBatchesOfAllTrainVertices) {
  const CscGraph graph = RandomGraph(kNumNodes, 3);
  const Job own = OwnJob({3}, 5);
  Job all = own;
  all.seeds = {};
  EXPECT_EQ(DigestsOf(graph, own, 40, 1), DigestsOf(graph, all, 40, 1));
}

TEST(OwnSeedsTest, AnyNumberOfSamplersMakesTheBatchesOfOne) {
  const CscGraph graph = RandomGraph(kNumNodes, 3);
  const Job job = OwnJob({1, 2}, 5);
  EXPECT_EQ(DigestsOf(graph, job, 64, 4), DigestsOf(graph, job, 64, 1));
}

TEST(OwnSeedsTest, EachTrainVertexOfAShareComesInEachPassOfIt) {
  const CscGraph graph = RandomGraph(kNumNodes, 3);
  const Job job = OwnJob({1, 1}, 5);
  SamplerCase sampling(graph, job);
  std::map<uint32_t, uint32_t> share_of;
  std::vector<uint64_t> num_train(2);
  for (size_t row = 0; row < job.train.size(); ++row) {
    const uint32_t share = job.seeds.share_of_part[job.parts_of_train[row]];
    share_of[static_cast<uint32_t>(job.train[row])] = share;
    ++num_train[share];
  }
  // Share 0 has most of the vertices, so share 1 begins again.
  ASSERT_GT(num_train[0], 2 * num_train[1]);
  const auto epoch = SeedsOfEpoch(sampling, 0);
  std::vector<std::vector<uint32_t>> seeds_of(2);
  for (size_t batch = 0; batch < epoch.size(); ++batch) {
    for (const uint32_t seed : epoch[batch]) {
      EXPECT_EQ(share_of.at(seed), batch % 2) << "batch " << batch;
      seeds_of[batch % 2].push_back(seed);
    }
  }
  EXPECT_EQ(seeds_of[0].size(), num_train[0]);
  std::vector<std::vector<uint32_t>> passes;
  for (uint32_t share = 0; share < 2; ++share) {
    for (size_t at = 0; at + num_train[share] <= seeds_of[share].size();
         at += num_train[share]) {
      const auto begin = seeds_of[share].begin() + static_cast<int64_t>(at);
      passes.emplace_back(begin,
                          begin + static_cast<int64_t>(num_train[share]));
      const std::set<uint32_t> once(passes.back().begin(), passes.back().end());
      EXPECT_EQ(once.size(), num_train[share]);
    }
  }
  ASSERT_GE(passes.size(), 3U);
  EXPECT_NE(passes[1], passes[2])
      << "the second pass has the order of the first";
  EXPECT_NE(SeedsOfEpoch(sampling, 1), epoch);
}

TEST(OwnSeedsTest, AShareWithoutTrainVerticesHasBatchesWithoutSeeds) {
  const CscGraph graph = RandomGraph(kNumNodes, 3);
  Job job = OwnJob({1, 1}, 5);
  // All are of the first share.
  std::fill(job.parts_of_train.begin(), job.parts_of_train.end(), uint8_t{0});
  SamplerCase sampling(graph, job);
  const auto epoch = SeedsOfEpoch(sampling, 0);
  ASSERT_GT(epoch.size(), 2U);
  for (size_t batch = 0; batch < epoch.size(); ++batch) {
    EXPECT_EQ(epoch[batch].empty(), batch % 2 == 1) << batch;
    sampling.ExpectLikeReference(BatchSeq(batch));
  }
}

}  // namespace
}  // namespace fgnn
