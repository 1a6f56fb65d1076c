// Plans of the memory of GPUs.
#include "scheduler/planning/gpu_plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "scheduler/planning/job_plan.h"
#include "tests/fakes/devices.h"
#include "tests/fakes/status_matchers.h"
#include "tests/unit/scheduler/planning/plan_input.h"

namespace fgnn {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::Pair;

constexpr uint64_t kNodes = 1 << 20;
constexpr uint64_t kRowBytes = 1 << 10;
constexpr uint64_t kRanksMiB = 4;

// A GPU of 1,000 MiB, of which contexts have 100. A sampler takes 200 for the
// topology and 20 for batches, a trainer 40 for a step, each with a quarter
// more. All rows would take 1,024.
PlanInput OnGpus(const std::vector<std::string>& devices) {
  PlanInput input = SomeInput();
  input.spec.devices = Devs(devices);
  input.dataset.num_nodes = kNodes;
  input.dataset.feature_row_bytes = kRowBytes;
  input.sampling.gpu = {.total_bytes = 1000 * kMiB,
                        .free_bytes = 950 * kMiB,
                        .topology_bytes = 200 * kMiB,
                        .work_bytes = 16 * kMiB};
  input.training.gpu = {.total_bytes = 1000 * kMiB,
                        .free_bytes = 900 * kMiB,
                        .work_bytes = 32 * kMiB};
  return input;
}

// Returns names and MiB of a plan's items on a GPU.
std::vector<std::pair<std::string, uint64_t>> ItemsOn(const JobPlan& plan,
                                                      const char* gpu) {
  std::vector<std::pair<std::string, uint64_t>> items;
  for (const MemoryItem& item : plan.memory) {
    if (item.place == gpu) items.emplace_back(item.name, item.bytes / kMiB);
  }
  return items;
}

TEST(GpuPlanTest, ACacheTakesWhatOneGpuHasLeft) {
  FGNN_ASSERT_OK_AND_ASSIGN(const JobPlan plan, PlanJob(OnGpus({"cuda:0"})));
  // But for an eighth of 636 MiB, and a row of a KiB.
  const uint64_t left = 1000 - 100 - 200 - kRanksMiB - 20 - 40;
  EXPECT_NEAR(static_cast<double>(plan.segment.cache_rows),
              static_cast<double>(left * 7 / 8 * 1024), 1024);
  const std::string rows = std::to_string(plan.segment.cache_rows);
  EXPECT_THAT(
      ItemsOn(plan, "cuda:0"),
      ElementsAre(Pair("contexts, and what else is there", 100),
                  Pair("topology", 200), Pair("hot ranks", kRanksMiB),
                  Pair("batches of 1 sampler", 20), Pair("1 trainer", 40),
                  Pair("1 cache of " + rows + " rows", 556)));
  EXPECT_EQ(plan.segment.topology_on_host, 0U);
  ASSERT_EQ(plan.gpus.size(), 1U);
  EXPECT_EQ(plan.gpus[0].place, "cuda:0");
  EXPECT_EQ(plan.gpus[0].have_bytes, 1000 * kMiB);
  EXPECT_EQ(plan.gpus[0].total_bytes, BytesIn(plan.memory, "cuda:0"));
  EXPECT_THAT(DescribeGpuMemory(plan),
              AllOf(HasSubstr("; cuda:0 920."), HasSubstr("of 1000.0 MiB: "),
                    HasSubstr("topology 200.0 MiB + hot ranks 4.00 MiB + ")));
}

// Beside a cache, and the eighth of 636 MiB that stays.
TEST(GpuPlanTest, HiddenStatesTakeWhatACacheLeaves) {
  PlanInput input = OnGpus({"cuda:0"});
  input.training.gpu->hidden_bytes = 200 * kMiB;
  FGNN_ASSERT_OK_AND_ASSIGN(const JobPlan open, PlanJob(input));
  FGNN_ASSERT_OK_AND_ASSIGN(const JobPlan alone, PlanJob(OnGpus({"cuda:0"})));
  EXPECT_EQ(open.segment.cache_rows, alone.segment.cache_rows);
  EXPECT_EQ(open.segment.hidden_on_gpu, 0U);
  input.spec.cache.capacity = 0.25;  // 256 MiB.
  FGNN_ASSERT_OK_AND_ASSIGN(const JobPlan plan, PlanJob(input));
  EXPECT_EQ(plan.segment.hidden_on_gpu, 1U);
  EXPECT_THAT(ItemsOn(plan, "cuda:0"),
              testing::Contains(Pair("hidden states", 200)));
  EXPECT_EQ(plan.gpus[0].total_bytes, BytesIn(plan.memory, "cuda:0"));
  input.training.gpu->hidden_bytes = (636 * 7 / 8 - 256) * kMiB;
  EXPECT_EQ(PlanJob(input)->segment.hidden_on_gpu, 1U);
  input.training.gpu->hidden_bytes += 2 * kMiB;
  EXPECT_EQ(PlanJob(input)->segment.hidden_on_gpu, 0U);
}

TEST(GpuPlanTest, TrainersThatEvaluateTogetherHaveHiddenStatesOnTheHost) {
  PlanInput input = OnGpus({"cuda:0", "cuda:1"});
  input.spec.cache.policy = "none";
  input.training.gpu->hidden_bytes = 10 * kMiB;
  EXPECT_EQ(PlanJob(input)->segment.hidden_on_gpu, 1U);  // One of them trains.
  input.spec.trainers = 2;
  EXPECT_EQ(PlanJob(input)->segment.hidden_on_gpu, 0U);
}

TEST(GpuPlanTest, TheHostHasNoCacheOfAGpu) {
  PlanInput input = OnGpus({"cuda:0"});
  input.spec.cache.policy = "none";
  FGNN_ASSERT_OK_AND_ASSIGN(const JobPlan bare, PlanJob(input));
  EXPECT_EQ(bare.segment.cache_rows, 0U);
  EXPECT_THAT(DescribeGpuMemory(bare), Not(HasSubstr("hot ranks")));
  input.spec.cache = {.policy = "degree", .capacity = 0.25};
  FGNN_ASSERT_OK_AND_ASSIGN(const JobPlan cached, PlanJob(input));
  EXPECT_EQ(cached.segment.cache_rows, kNodes / 4);
  EXPECT_THAT(DescribeMemory(cached), Not(HasSubstr("cache")));
  // Marks make tasks larger, so slots too.
  EXPECT_LT(cached.total_bytes, bare.total_bytes + 8 * kMiB);
  EXPECT_EQ(BytesIn(cached.memory, kHostMemory), cached.total_bytes);
}

TEST(GpuPlanTest, AGpuThatOnlyTrainsHasNoTopology) {
  FGNN_ASSERT_OK_AND_ASSIGN(const JobPlan alone, PlanJob(OnGpus({"cuda:0"})));
  PlanInput input = OnGpus({"cuda:0", "cpu:0"});
  input.sampling.gpu = std::nullopt;
  FGNN_ASSERT_OK_AND_ASSIGN(const JobPlan beside_cores, PlanJob(input));
  EXPECT_THAT(DescribeGpuMemory(beside_cores), Not(HasSubstr("topology")));
  EXPECT_EQ(beside_cores.segment.cache_rows - alone.segment.cache_rows,
            (200 + kRanksMiB + 20) * 7 / 8 * 1024);

  // Executors go round the devices: one GPU samples, the other trains.
  FGNN_ASSERT_OK_AND_ASSIGN(const JobPlan two,
                            PlanJob(OnGpus({"cuda:0", "cuda:1"})));
  EXPECT_THAT(ItemsOn(two, "cuda:0"),
              ElementsAre(Pair("contexts, and what else is there", 50),
                          Pair("topology", 200), Pair("hot ranks", kRanksMiB),
                          Pair("batches of 1 sampler", 20)));
  EXPECT_EQ(two.segment.cache_rows, beside_cores.segment.cache_rows);
}

TEST(GpuPlanTest, AStandbyTrainersCacheLiesBesideTheTopology) {
  PlanInput input = OnGpus({"cuda:0", "cuda:1"});
  input.spec.executors = "factored";
  input.spec.switching = true;
  FGNN_ASSERT_OK_AND_ASSIGN(const JobPlan plan, PlanJob(input));
  FGNN_ASSERT_OK_AND_ASSIGN(const JobPlan alone, PlanJob(OnGpus({"cuda:0"})));
  EXPECT_EQ(plan.segment.cache_rows, alone.segment.cache_rows);
  EXPECT_EQ(plan.segment.standby_cache_rows, plan.segment.cache_rows);
  EXPECT_EQ(ItemsOn(plan, "cuda:0"), ItemsOn(alone, "cuda:0"));
  EXPECT_EQ(ItemsOn(plan, "cuda:1"), ItemsOn(alone, "cuda:0"));
  // Each GPU has room for the larger cache, as its role may change.
  input.spec.cache.capacity = 0.25;
  input.spec.cache.standby_capacity = 0.5;
  FGNN_ASSERT_OK_AND_ASSIGN(const JobPlan by_hand, PlanJob(input));
  for (const char* gpu : {"cuda:0", "cuda:1"}) {
    EXPECT_THAT(ItemsOn(by_hand, gpu),
                testing::Contains(Pair("1 cache of 524288 rows", 512)));
  }
}

TEST(GpuPlanTest, GradientsOfNcclLieBesideTheStep) {
  PlanInput input = OnGpus({"cpu:0", "cuda:0", "cuda:1"});
  input.sampling.gpu = std::nullopt;
  input.spec.executors = "together";
  input.spec.trainers = 2;
  input.spec.training.batches_per_step = 4;
  input.training.num_parameters = 4 * kMiB;  // A gradient has 16 MiB.
  FGNN_ASSERT_OK_AND_ASSIGN(const JobPlan on_board, PlanJob(input));
  EXPECT_THAT(DescribeGpuMemory(on_board), Not(HasSubstr("NCCL")));
  input.spec.training.sync = "nccl";
  FGNN_ASSERT_OK_AND_ASSIGN(const JobPlan by_nccl, PlanJob(input));
  for (const char* gpu : {"cuda:0", "cuda:1"}) {
    // NCCL's own 512 MiB, and 4 gradients with their sum.
    EXPECT_THAT(ItemsOn(by_nccl, gpu),
                testing::Contains(Pair("NCCL of 1 trainer", 512 + 5 * 16)));
  }
  EXPECT_EQ(on_board.segment.cache_rows - by_nccl.segment.cache_rows,
            (512 + 5 * 16) * 7 / 8 * 1024);
}

TEST(GpuPlanTest, ATopologyThatDoesNotFitStaysOnTheHost) {
  PlanInput input = OnGpus({"cuda:0"});
  FGNN_ASSERT_OK_AND_ASSIGN(const JobPlan on_gpu, PlanJob(input));
  input.sampling.gpu->topology_bytes = 836 * kMiB;
  input.dataset.topology_bytes = 836 * kMiB;
  FGNN_ASSERT_OK_AND_ASSIGN(const JobPlan just, PlanJob(input));
  EXPECT_EQ(just.segment.topology_on_host, 0U);
  EXPECT_EQ(just.segment.cache_rows, 0U);

  input.sampling.gpu->topology_bytes = input.dataset.topology_bytes =
      841 * kMiB;
  FGNN_ASSERT_OK_AND_ASSIGN(const JobPlan plan, PlanJob(input));
  EXPECT_EQ(plan.segment.topology_on_host, 1U);
  EXPECT_THAT(DescribeGpuMemory(plan), Not(HasSubstr("topology")));
  // It can no longer be dropped from there.
  EXPECT_THAT(DescribeMemory(plan),
              HasSubstr("topology, pinned for GPUs 841.0 MiB"));
  EXPECT_EQ(plan.mapped.size(), 1U);
  EXPECT_GT(plan.segment.cache_rows, on_gpu.segment.cache_rows);
}

TEST(GpuPlanTest, ACacheThatIsAskedForComesBeforeTheTopology) {
  PlanInput input = OnGpus({"cuda:0"});
  input.spec.cache.capacity = 0.7;  // 716 MiB.
  FGNN_ASSERT_OK_AND_ASSIGN(const JobPlan plan, PlanJob(input));
  EXPECT_EQ(plan.segment.cache_rows, kNodes * 7 / 10);
  EXPECT_EQ(plan.segment.topology_on_host, 1U);
}

TEST(GpuPlanTest, WhatFitsNowhereIsRefusedWithSizesAndTheWayOut) {
  PlanInput input = OnGpus({"cuda:0"});
  input.spec.cache.capacity = 0.9;
  EXPECT_THAT(
      PlanJob(input),
      StatusIs(
          absl::StatusCode::kResourceExhausted,
          AllOf(HasSubstr("memory of cuda:0: the job needs 1.06 GiB there "
                          "(contexts, and what else is there 100.0 MiB + "),
                HasSubstr("1 cache of 943718 rows 921.6 MiB"),
                HasSubstr("beside a topology in the host's memory, and it has "
                          "1000.0 MiB; lower cache.capacity"),
                HasSubstr("let cores sample"))));
  input.spec.cache.policy = "none";
  input.training.gpu->work_bytes = 1000 * kMiB;
  EXPECT_THAT(
      PlanJob(input),
      StatusIs(absl::StatusCode::kResourceExhausted,
               AllOf(HasSubstr("1 trainer 1.22 GiB"), HasSubstr("model.hidden"),
                     Not(HasSubstr("cache.capacity")))));
}

TEST(GpuPlanTest, EachKindOfSamplerTakesWhatItMeasured) {
  PlanInput input = OnGpus({"cpu:0", "cuda:0"});
  input.spec.samplers = 2;
  input.sampling_on_gpus = input.sampling;
  input.sampling_on_gpus->program_bytes = 300 * kMiB;
  input.sampling.gpu = std::nullopt;
  FGNN_ASSERT_OK_AND_ASSIGN(const JobPlan plan, PlanJob(input));
  // A GPU's topology and batches are as its own sampler saw them.
  EXPECT_THAT(ItemsOn(plan, "cuda:0"),
              AllOf(testing::Contains(Pair("topology", 200)),
                    testing::Contains(Pair("batches of 1 sampler", 20))));
  EXPECT_THAT(DescribeMemory(plan),
              AllOf(HasSubstr(" + 1 sampler on cpu:0 10.0 MiB + "),
                    HasSubstr(" + 1 sampler on cuda:0 308.0 MiB + ")));

  // What lies on the host for GPUs is what the GPU's sampler measured.
  input.sampling_on_gpus->gpu->topology_bytes = 900 * kMiB;
  FGNN_ASSERT_OK_AND_ASSIGN(const JobPlan pinned, PlanJob(input));
  EXPECT_THAT(DescribeMemory(pinned),
              HasSubstr("topology, pinned for GPUs 900.0 MiB"));
}

TEST(GpuPlanTest, CoresThatTakeTurnsWithGpusHaveNoTrainer) {
  PlanInput input = OnGpus({"cpu:0", "cuda:0", "cuda:1"});
  input.spec.executors = "factored";
  input.spec.switching = true;
  input.spec.samplers = 0;
  input.sampling_on_gpus = input.sampling;
  input.sampling.gpu = std::nullopt;
  FGNN_ASSERT_OK_AND_ASSIGN(const JobPlan plan, PlanJob(input));
  EXPECT_THAT(DescribeMemory(plan), AllOf(HasSubstr("1 sampler on cpu:0"),
                                          Not(HasSubstr("1 trainer on cpu:0")),
                                          HasSubstr("1 trainer on cuda:1")));
  EXPECT_EQ(plan.segment.num_devices, 3U);
  // Both GPUs may train, since the cores sample anyway.
  EXPECT_EQ(plan.segment.most_trainers, 2U);
  EXPECT_EQ(plan.segment.most_samplers, 3U);
  EXPECT_EQ(DescribeRoleLimits(plan, input.spec), "");
  EXPECT_EQ(ItemsOn(plan, "cuda:0"), ItemsOn(plan, "cuda:1"));
  EXPECT_GT(plan.segment.standby_cache_rows, 0U);
  // No number of trainers makes the host's memory suffice.
  input.available_bytes = plan.total_bytes - 1;
  input.spec.queue_slots = plan.segment.num_slots;
  EXPECT_THAT(PlanJob(input), StatusIs(absl::StatusCode::kResourceExhausted));
}

TEST(GpuPlanTest, RankingCountsTheThreadsOfEachKind) {
  PlanInput input = OnGpus({"cpu:0", "cuda:0"});
  input.spec.samplers = 2;
  input.spec.cache = {.policy = "degree", .capacity = 0.25};
  input.sampling_on_gpus = input.sampling;
  input.sampling.gpu = std::nullopt;
  input.sampling.num_threads = 200;
  FGNN_ASSERT_OK_AND_ASSIGN(const JobPlan plan, PlanJob(input));
  // 202 arrays of 4 MiB, beside programs and workspaces.
  const uint64_t counts = (200 + 2) * 4 * kMiB;
  EXPECT_EQ(plan.total_bytes, counts + 2 * (8 + 2) * kMiB + 60 * kMiB);
}

TEST(GpuPlanTest, FeaturesThatAGpuReadsStayInTheHostsMemory) {
  PlanInput input = OnGpus({"cuda:0"});
  FGNN_ASSERT_OK_AND_ASSIGN(const JobPlan staged, PlanJob(input));
  EXPECT_EQ(staged.mapped.size(), 2U);
  input.training.gpu->pinned_bytes = 1024 * kMiB;
  FGNN_ASSERT_OK_AND_ASSIGN(const JobPlan plan, PlanJob(input));
  EXPECT_THAT(DescribeMemory(plan),
              HasSubstr("features, pinned for GPUs 1.00 GiB"));
  EXPECT_EQ(plan.total_bytes, staged.total_bytes + 1024 * kMiB);
  EXPECT_EQ(plan.mapped.size(), 1U);
  input.available_bytes = 1100 * kMiB;
  EXPECT_THAT(PlanJob(input),
              StatusIs(absl::StatusCode::kResourceExhausted,
                       HasSubstr("or set features.store to disk")));
}

TEST(GpuPlanTest, WithoutAMeasuredGpuNothingIsPlannedThere) {
  PlanInput input = OnGpus({"cuda:0"});
  input.sampling.gpu = input.training.gpu = std::nullopt;
  FGNN_ASSERT_OK_AND_ASSIGN(const JobPlan plan, PlanJob(input));
  EXPECT_THAT(plan.gpus, IsEmpty());
  EXPECT_EQ(DescribeGpuMemory(plan), "");
  EXPECT_EQ(plan.segment.cache_rows, 0U);
  input.spec.cache.capacity = 0.5;
  FGNN_ASSERT_OK_AND_ASSIGN(const JobPlan asked, PlanJob(input));
  EXPECT_EQ(asked.segment.cache_rows, kNodes / 2);
}

}  // namespace
}  // namespace fgnn
