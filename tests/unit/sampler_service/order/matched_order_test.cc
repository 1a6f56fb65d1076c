#include "sampler_service/order/matched_order.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <map>
#include <new>
#include <set>
#include <thread>
#include <utility>

#include "sampler_service/order/matched_path.h"
#include "sampler_service/sampling/cpu/cpu_sampler.h"
#include "shared/base/status.h"
#include "shared/base/threads/exceptions.h"
#include "shared/base/threads/notification.h"
#include "tests/fakes/rounds.h"
#include "tests/fakes/status_matchers.h"
#include "tests/unit/sampler_service/sampling/algorithm_jobs.h"

namespace fgnn {
namespace {

using reference::CscGraph;
using reference::Job;
using reference::RandomGraph;
using testing::ElementsAreArray;

constexpr uint64_t kNumEpochs = 2;

absl::Status GoOn() { return absl::OkStatus(); }

// A job on a graph, in matched order. Borrows the graph.
class MatchedJob {
 public:
  MatchedJob(const CscGraph& graph, Job job, uint32_t window, uint32_t chains)
      : graph_(graph),
        sampling_(graph, std::move(job)),
        options_({.batches_per_epoch = sampling_.batches_per_epoch(),
                  .window = window,
                  .chains = chains}) {}

  std::unique_ptr<MatchedOrder> NewOrder() const {
    return MatchedOrder::Create(sampling_.input(), sampling_.job().options,
                                options_)
        .value();
  }
  std::unique_ptr<Sampler> NewSampler() const {
    return NewCpuSampler(sampling_.input(), sampling_.job().options).value();
  }
  uint64_t num_batches() const {
    return kNumEpochs * options_.batches_per_epoch;
  }
  uint64_t batches_per_epoch() const { return options_.batches_per_epoch; }
  const Job& job() const { return sampling_.job(); }

  // Returns the drawn numbers of these batches, as a new sampler finds them
  // that asks in this order.
  std::map<uint64_t, uint64_t> Ask(const std::vector<uint64_t>& batches) const {
    const std::unique_ptr<MatchedOrder> order = NewOrder();
    const std::unique_ptr<Sampler> sampler = NewSampler();
    std::map<uint64_t, uint64_t> drawn;
    for (const uint64_t seq : batches) {
      const auto number = order->DrawnOf(BatchSeq(seq), *sampler, GoOn);
      EXPECT_THAT(number, IsOk());
      if (number.ok()) drawn[seq] = number->value();
    }
    return drawn;
  }
  std::vector<uint64_t> AllBatches() const {
    std::vector<uint64_t> batches(num_batches());
    for (uint64_t seq = 0; seq < batches.size(); ++seq) batches[seq] = seq;
    return batches;
  }

  // The law in its shortest form.
  std::map<uint64_t, uint64_t> ByReference() const {
    std::map<uint64_t, uint64_t> drawn;
    const uint64_t per_epoch = options_.batches_per_epoch;
    for (uint64_t epoch = 0; epoch < kNumEpochs; ++epoch) {
      for (uint64_t begin = 0; begin < per_epoch; begin += options_.window) {
        const uint64_t first = epoch * per_epoch + begin;
        const auto size = static_cast<uint32_t>(
            std::min<uint64_t>(options_.window, per_epoch - begin));
        const std::vector<uint32_t> order =
            MatchedPath(Overlap(first, size), options_.chains);
        for (uint32_t i = 0; i < size; ++i) drawn[first + i] = first + order[i];
      }
    }
    return drawn;
  }
  OverlapMatrix Overlap(uint64_t first, uint32_t size) const {
    std::vector<uint64_t> batches(graph_.lists().size());
    for (uint32_t i = 0; i < size; ++i) {
      const reference::Batch batch =
          reference::SampleBatch(graph_.lists(), job(), first + i);
      for (const uint32_t v : batch.input_nodes) batches[v] |= uint64_t{1} << i;
    }
    OverlapMatrix overlap(size);
    for (const uint64_t of_vertex : batches) overlap.AddVertex(of_vertex);
    return overlap;
  }

 private:
  const CscGraph& graph_;
  const SamplerCase sampling_;
  const MatchedOrderOptions options_;
};

class MatchedOrderTest : public testing::TestWithParam<Algorithm> {};

// Epochs end within a window, and begin with one.
TEST_P(MatchedOrderTest, IsTheReferencesPermutationOfEachWindow) {
  for (uint64_t seed = 0; seed < Rounds(5); ++seed) {
    const auto window = static_cast<uint32_t>(2 + seed * 5 % 63);
    const auto chains = static_cast<uint32_t>(1 + seed % 3);
    SCOPED_TRACE(absl::StrCat("seed=", seed, " window=", window));
    const CscGraph graph =
        RandomGraph(20 + static_cast<uint32_t>(seed * 29 % 70), seed);
    Job job = RandomJobOf(GetParam(), graph, seed);
    job.options.batch_size = 1 + static_cast<uint32_t>(seed % 4);
    const MatchedJob matched(graph, job, window, chains);
    const auto drawn = matched.Ask(matched.AllBatches());
    EXPECT_EQ(drawn, matched.ByReference());
    std::map<uint64_t, std::set<uint64_t>> of_window;
    for (const auto& [seq, number] : drawn) {
      const uint64_t epoch = seq / matched.batches_per_epoch();
      const uint64_t begin = seq - seq % matched.batches_per_epoch() % window;
      EXPECT_GE(number, begin);
      EXPECT_LT(number, begin + window);
      EXPECT_EQ(number / matched.batches_per_epoch(), epoch);
      of_window[begin].insert(number);
    }
    for (const auto& [begin, numbers] : of_window) {
      const uint64_t left =
          matched.batches_per_epoch() - begin % matched.batches_per_epoch();
      EXPECT_EQ(numbers.size(), std::min<uint64_t>(window, left));
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, MatchedOrderTest, testing::ValuesIn(Algorithms()),
                         [](const auto& test) { return test.param.name; });

// 60 batches an epoch.
MatchedJob SmallMatchedJob(const CscGraph& graph, uint32_t window) {
  Job job;
  for (int64_t v = 0; v < 180; ++v) job.train.push_back(v);
  job.options.fanouts = {3, 2};
  job.options.batch_size = 3;
  job.options.seed = 5;
  return {graph, job, window, /*chains=*/1};
}

TEST(MatchedOrderOfASamplerTest, FindsTheSameWhereverItBegins) {
  const CscGraph graph = RandomGraph(300, 3);
  const MatchedJob job = SmallMatchedJob(graph, 16);
  const std::map<uint64_t, uint64_t> expected = job.ByReference();
  EXPECT_TRUE(std::any_of(expected.begin(), expected.end(), [](auto entry) {
    return entry.first != entry.second;
  })) << "the order is the drawn one, so that nothing is tested";
  for (const uint64_t first : {0, 7, 16, 59, 60, 100}) {
    SCOPED_TRACE(first);
    std::vector<uint64_t> batches;
    for (uint64_t seq = first; seq < job.num_batches(); ++seq) {
      batches.push_back(seq);
    }
    for (const auto& [seq, drawn] : job.Ask(batches)) {
      EXPECT_EQ(drawn, expected.at(seq)) << seq;
    }
  }
}

TEST(MatchedOrderOfASamplerTest, FindsTheSameInAnyOrderOfQuestions) {
  const CscGraph graph = RandomGraph(300, 3);
  const MatchedJob job = SmallMatchedJob(graph, 2);
  // 60 windows, far apart one after the other: more than are kept.
  std::vector<uint64_t> batches = job.AllBatches();
  std::sort(batches.begin(), batches.end(), [](uint64_t a, uint64_t b) {
    return std::pair(a * 37 % 120, a) < std::pair(b * 37 % 120, b);
  });
  EXPECT_EQ(job.Ask(batches), job.ByReference());
}

TEST(MatchedOrderOfASamplerTest, AnyNumberOfThreadsFindsTheSame) {
  const CscGraph graph = RandomGraph(300, 3);
  for (const uint32_t window : {2, 16, 64}) {
    const MatchedJob job = SmallMatchedJob(graph, window);
    const std::map<uint64_t, uint64_t> expected = job.ByReference();
    for (uint64_t round = 0; round < Rounds(5); ++round) {
      const std::unique_ptr<MatchedOrder> order = job.NewOrder();
      std::atomic<uint64_t> next = 0;
      std::vector<uint64_t> drawn(job.num_batches());
      std::vector<std::thread> threads;
      for (int i = 0; i < 4; ++i) {
        threads.emplace_back([&] {
          const std::unique_ptr<Sampler> sampler = job.NewSampler();
          for (uint64_t seq = next++; seq < drawn.size(); seq = next++) {
            drawn[seq] = order->DrawnOf(BatchSeq(seq), *sampler, GoOn)->value();
          }
        });
      }
      for (std::thread& thread : threads) thread.join();
      for (const auto& [seq, number] : expected) {
        EXPECT_EQ(drawn[seq], number) << seq;
      }
    }
  }
}

TEST(MatchedOrderOfASamplerTest, ABatchIsBitForBitTheDrawnOne) {
  const CscGraph graph = RandomGraph(300, 3);
  const MatchedJob job = SmallMatchedJob(graph, 16);
  const std::unique_ptr<Sampler> sampler = job.NewSampler();
  TaskBlock as_drawn(1 << 20);
  TaskBlock ordered(1 << 20);
  for (const auto& [seq, drawn] : job.ByReference()) {
    FGNN_ASSERT_OK_AND_ASSIGN(
        const SampledTask expected,
        sampler->Sample(BatchSeq(drawn), as_drawn.span()));
    FGNN_ASSERT_OK_AND_ASSIGN(const SampledTask task,
                              sampler->SampleAs({.seq = BatchSeq(seq),
                                                 .drawn = BatchSeq(drawn),
                                                 .order_seconds = 0.5f},
                                                ordered.span()));
    EXPECT_EQ(task.seconds.order, 0.5f);
    EXPECT_EQ(task.digest, expected.digest);
    EXPECT_EQ(task.bytes, expected.bytes);
    FGNN_ASSERT_OK_AND_ASSIGN(const TaskView view,
                              ReadTask(ordered.span(), kJobKey));
    EXPECT_EQ(view.seq, BatchSeq(seq));
    EXPECT_EQ(view.seconds.order, 0.5f);
    const reference::Batch batch =
        reference::SampleBatch(graph.lists(), job.job(), drawn);
    EXPECT_THAT(view.input_nodes, ElementsAreArray(batch.input_nodes));
    for (size_t h = 0; h < batch.hops.size(); ++h) {
      EXPECT_THAT(view.hops[h].indices,
                  ElementsAreArray(batch.hops[h].indices));
    }
  }
}

// Four groups of 30 vertices. Each vertex draws all of its group. A batch has
// one seed, so that it needs one group.
TEST(MatchedOrderOfASamplerTest, AWindowOfPlantedGroupsIsPutTogether) {
  constexpr uint32_t kGroups = 4;
  constexpr uint32_t kNodesOfGroup = 30;
  reference::AdjacencyLists lists(kGroups * kNodesOfGroup);
  for (uint32_t v = 0; v < lists.size(); ++v) {
    const uint32_t begin = v / kNodesOfGroup * kNodesOfGroup;
    for (uint32_t i = 0; i < kNodesOfGroup; ++i) lists[v].push_back(begin + i);
  }
  const CscGraph graph(std::move(lists));
  Job planted;
  for (int64_t v = 0; v < kGroups * kNodesOfGroup; ++v) {
    planted.train.push_back(v);
  }
  planted.options.fanouts = {-1};
  planted.options.batch_size = 1;
  const MatchedJob job(graph, planted, 12, /*chains=*/1);
  uint64_t loaded = 0;
  uint64_t loaded_as_drawn = 0;
  const auto drawn = job.Ask(job.AllBatches());
  for (uint64_t begin = 0; begin < job.num_batches(); begin += 12) {
    const OverlapMatrix overlap = job.Overlap(begin, 12);
    std::vector<uint32_t> order;
    std::vector<uint32_t> as_drawn;
    std::set<uint64_t> groups;
    for (uint32_t i = 0; i < 12; ++i) {
      as_drawn.push_back(i);
      order.push_back(static_cast<uint32_t>(drawn.at(begin + i) - begin));
      groups.insert(reference::SampleBatch(graph.lists(), job.job(), begin + i)
                        .input_nodes.front() /
                    kNodesOfGroup);
    }
    const uint64_t of_window =
        overlap.InputNodes() - SharedAlong(overlap, order, 1);
    // The optimum: each group is loaded once.
    EXPECT_EQ(of_window, groups.size() * kNodesOfGroup) << begin;
    loaded += of_window;
    loaded_as_drawn += overlap.InputNodes() - SharedAlong(overlap, as_drawn, 1);
  }
  EXPECT_LE(static_cast<double>(loaded),
            0.9 * static_cast<double>(loaded_as_drawn));
}

// A sampler that waits in its first batch until it is told to go on.
class HeldSampler final : public Sampler {
 public:
  explicit HeldSampler(std::unique_ptr<Sampler> sampler)
      : sampler_(std::move(sampler)) {}

  absl::StatusOr<SampledTask> SampleAs(const OrderedBatch& batch,
                                       absl::Span<std::byte> block) override {
    return sampler_->SampleAs(batch, block);
  }
  absl::Status Tally(BatchSeq drawn, absl::Span<std::byte> block,
                     InputNodeSink* sink) override {
    holds.Notify();
    EXPECT_TRUE(may_go_on.WaitUntil(DeadlineIn(std::chrono::seconds(60))));
    if (lacks_memory) throw std::bad_alloc();
    FGNN_RETURN_IF_ERROR(error);
    return sampler_->Tally(drawn, block, sink);
  }
  absl::Status MarkBy(const HotRanks& ranks) override {
    return sampler_->MarkBy(ranks);
  }
  uint64_t workspace_bytes() const override { return 0; }
  uint64_t progress() const override { return 0; }

  Notification holds;
  Notification may_go_on;
  absl::Status error;
  bool lacks_memory = false;

 private:
  std::unique_ptr<Sampler> sampler_;
};

TEST(MatchedOrderOfASamplerTest, AThreadThatWaitsSeesThatItIsToStop) {
  const CscGraph graph = RandomGraph(300, 3);
  const MatchedJob job = SmallMatchedJob(graph, 16);
  const std::unique_ptr<MatchedOrder> order = job.NewOrder();
  HeldSampler held(job.NewSampler());
  std::thread first(
      [&] { EXPECT_THAT(order->DrawnOf(BatchSeq(0), held, GoOn), IsOk()); });
  ASSERT_TRUE(held.holds.WaitUntil(DeadlineIn(std::chrono::seconds(60))));
  const std::unique_ptr<Sampler> sampler = job.NewSampler();
  int looks = 0;
  EXPECT_THAT(order->DrawnOf(BatchSeq(1), *sampler,
                             [&] {
                               return ++looks < 3
                                          ? absl::OkStatus()
                                          : absl::CancelledError("stop");
                             }),
              StatusIs(absl::StatusCode::kCancelled, "stop"));
  held.may_go_on.Notify();
  first.join();
}

TEST(MatchedOrderOfASamplerTest, AnErrorIsOfTheThreadThatHasIt) {
  const CscGraph graph = RandomGraph(300, 3);
  const MatchedJob job = SmallMatchedJob(graph, 16);
  const std::unique_ptr<MatchedOrder> order = job.NewOrder();
  HeldSampler held(job.NewSampler());
  held.error = absl::InvalidArgumentError("damaged");
  std::thread first([&] {
    EXPECT_THAT(order->DrawnOf(BatchSeq(0), held, GoOn),
                StatusIs(absl::StatusCode::kInvalidArgument, "damaged"));
  });
  ASSERT_TRUE(held.holds.WaitUntil(DeadlineIn(std::chrono::seconds(60))));
  std::thread second([&] {
    const std::unique_ptr<Sampler> sampler = job.NewSampler();
    const auto drawn = order->DrawnOf(BatchSeq(1), *sampler, GoOn);
    ASSERT_THAT(drawn, IsOk());
    EXPECT_EQ(drawn->value(), job.ByReference().at(1));
  });
  held.may_go_on.Notify();
  first.join();
  second.join();
}

TEST(MatchedOrderOfASamplerTest, AThreadThatThrowsLeavesTheOthersToGoOn) {
  const CscGraph graph = RandomGraph(300, 3);
  const MatchedJob job = SmallMatchedJob(graph, 16);
  const std::unique_ptr<MatchedOrder> order = job.NewOrder();
  HeldSampler held(job.NewSampler());
  held.lacks_memory = true;
  held.may_go_on.Notify();
  EXPECT_THAT(CatchExceptions([&] {
                return order->DrawnOf(BatchSeq(0), held, GoOn).status();
              }),
              StatusIs(absl::StatusCode::kInternal,
                       testing::HasSubstr("out of memory")));
  const std::unique_ptr<Sampler> sampler = job.NewSampler();
  int looks = 0;
  const auto drawn = order->DrawnOf(BatchSeq(1), *sampler, [&] {
    return ++looks < 100 ? absl::OkStatus() : absl::CancelledError("waits");
  });
  ASSERT_THAT(drawn, IsOk());
  EXPECT_EQ(drawn->value(), job.ByReference().at(1));
}

}  // namespace
}  // namespace fgnn
