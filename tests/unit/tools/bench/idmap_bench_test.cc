#include "tools/bench/idmap_bench.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/fakes/status_matchers.h"
#include "tests/reference/random_graph.h"
#include "tests/reference/sampling_reference.h"

namespace fgnn {
namespace {

TEST(IdMapBenchTest, MapsTheIdsOfEveryBatchByEveryMap) {
  const reference::CscGraph graph = reference::RandomGraph(500, 4);
  const auto train = reference::RandomTrainSet(500, 4);
  SampleBenchOptions options;
  options.sampling = {.fanouts = {4, 3}, .batch_size = 20, .seed = 5};
  options.batches = 4;
  options.rounds = 1;
  FGNN_ASSERT_OK_AND_ASSIGN(const IdMapBenchResult result,
                            RunIdMapBench({graph.view(), train}, options));
  reference::Job job;
  job.train = train;
  job.options = {.fanouts = {4, 3}, .batch_size = 20, .seed = 5};
  uint64_t num_ids = 0;
  uint64_t num_nodes = 0;
  for (uint64_t seq = 0; seq < 4; ++seq) {
    const reference::Batch batch =
        reference::SampleBatch(graph.lists(), job, seq);
    num_ids += batch.num_seeds;
    for (const reference::Hop& hop : batch.hops) num_ids += hop.indices.size();
    num_nodes += batch.input_nodes.size();
  }
  EXPECT_EQ(result.num_ids, num_ids);
  EXPECT_EQ(result.num_nodes, num_nodes);
  ASSERT_EQ(result.rates.size(), 2U);
  EXPECT_EQ(result.rates[0].name, "direct");
  EXPECT_TRUE(result.rates[0].is_chosen);
  EXPECT_EQ(result.rates[0].table_bytes, 500 * 4U);
  EXPECT_EQ(result.rates[1].name, "hash");
  EXPECT_FALSE(result.rates[1].is_chosen);
  for (const IdMapRate& rate : result.rates) {
    EXPECT_GT(rate.ids_per_second, 0);
    EXPECT_GT(rate.random_updates_per_second, 0);
    EXPECT_LE(rate.table_bytes, rate.workspace_bytes);
  }
}

}  // namespace
}  // namespace fgnn
