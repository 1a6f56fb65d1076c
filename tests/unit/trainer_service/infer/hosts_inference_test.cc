// Evaluations that several hosts make together, each with memory and trainers
// of its own. The trainers are threads; chunks go from board to board.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mman.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <thread>
#include <vector>

#include "shared/base/clock.h"
#include "shared/base/crc32c.h"
#include "tests/fakes/status_matchers.h"
#include "tests/unit/trainer_service/infer/small_graph.h"
#include "trainer_service/exchange/chunk_trade.h"
#include "trainer_service/infer/evaluate.h"
#include "trainer_service/infer/evaluate_targets.h"
#include "trainer_service/infer/rank_edges.h"

namespace fgnn {
namespace {

constexpr uint64_t kNumber = 5;

// The memory of a host of the evaluation.
struct HostMemory {
  HostMemory(uint32_t num_hosts, uint32_t self) {
    ChunkDivision division = {
        .evaluation = kNumber, .num_hosts = num_hosts, .self = self};
    std::fill_n(division.trainers.begin(), num_hosts, uint16_t{1});
    EXPECT_EQ(::fcntl(fd.get(), F_ADD_SEALS, F_SEAL_SHRINK), 0);
    EXPECT_THAT(WriteChunkDivision(fd.get(), division), IsOk());
    served = std::make_shared<ServedChunks>(
        "job", 1, ChunkBoard::Open(Duplicate(fd.get())).value());
  }
  ChunkBoard* board() const { return served->board.get(); }

  const UniqueFd fd =
      UniqueFd(::memfd_create("test", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  std::shared_ptr<ServedChunks> served;
};

// Links between hosts of this process, which serve what is in their seats.
class DirectLinks final : public ChunkLinks {
 public:
  explicit DirectLinks(std::deque<ChunkSeat>* seats) : seats_(*seats) {}

  absl::Status CopyChunks(uint32_t host, uint64_t evaluation,
                          const ChunkPlace& first, TakePiece take,
                          const std::function<bool()>& is_stopped) override {
    absl::Status taken;
    const auto chunks = seats_[host].Find("job", 1, evaluation);
    if (!chunks.ok()) return absl::UnavailableError("not yet");
    const absl::Status sent = SendChunks(
        **chunks, first, is_stopped,
        [&](ChunkPlace place, absl::Span<const float> rows) {
          taken =
              take({place, rows,
                    ExtendCrc32c(0, rows.data(), rows.size() * sizeof(float))});
          return taken;
        });
    // Not this host has cancelled it.
    if (taken.ok() && absl::IsCancelled(sent) && !is_stopped()) {
      return absl::UnavailableError(sent.message());
    }
    return sent;
  }

 private:
  std::deque<ChunkSeat>& seats_;
};

// A deadline for all hosts, so that a test that hangs fails.
std::function<absl::Status()> UntilFar() {
  return [end = DeadlineIn(std::chrono::seconds(60))]() -> absl::Status {
    if (MonotonicClock::now() < end) return absl::OkStatus();
    return absl::DeadlineExceededError("it hangs");
  };
}

class HostsInferenceTest : public testing::Test {
 protected:
  // Has `evaluate` called with the input of each trainer on each host, and
  // returns the results of host 0's first trainer.
  template <typename Results>
  Results OnHosts(
      uint32_t num_hosts, uint32_t trainers,
      const std::function<std::unique_ptr<SmallGraph>()>& world_of,
      const std::function<absl::StatusOr<Results>(InferenceInput)>& evaluate) {
    std::deque<HostMemory> hosts;
    std::deque<ChunkSeat> seats(num_hosts);
    for (uint32_t host = 0; host < num_hosts; ++host) {
      seats[host].Put(hosts.emplace_back(num_hosts, host).served);
    }
    DirectLinks links(&seats);
    std::vector<absl::StatusOr<Results>> results(num_hosts * trainers);
    std::vector<std::thread> threads;
    const std::function<bool()> never = [check = UntilFar()] {
      return !check().ok();
    };
    for (uint32_t host = 0; host < num_hosts; ++host) {
      for (uint32_t other = 0; other < num_hosts; ++other) {
        if (other == host) continue;
        threads.emplace_back([&, host, other] {
          EXPECT_THAT(
              FollowChunks(hosts[host].board(), &links, other, &totals_, never),
              IsOk());
        });
      }
      for (uint32_t trainer = 0; trainer < trainers; ++trainer) {
        threads.emplace_back([&, host, trainer] {
          results[host * trainers + trainer] =
              EvaluateOn(hosts[host], *world_of(), evaluate);
        });
      }
    }
    for (std::thread& thread : threads) thread.join();
    for (const auto& of_trainer : results) {
      EXPECT_THAT(of_trainer.status(), IsOk());
      if (!of_trainer.ok() || !results.front().ok()) return {};
      EXPECT_EQ(*of_trainer, *results.front());
    }
    return *results.front();
  }

  template <typename Results>
  absl::StatusOr<Results> EvaluateOn(
      const HostMemory& host, SmallGraph& world,
      const std::function<absl::StatusOr<Results>(InferenceInput)>& evaluate) {
    FGNN_ASSIGN_OR_RETURN(const std::unique_ptr<SharedInference> shared,
                          SharedInference::Open(Duplicate(host.fd.get())));
    InferenceInput input = world.Input();
    input.shared = shared.get();
    input.check = UntilFar();
    return evaluate(input);
  }

  ChunkTotals totals_;
};

TEST_F(HostsInferenceTest, ScoresOfClassesHaveTheBitsOfOneHost) {
  std::vector<int64_t> labels;
  std::vector<int64_t> split;
  for (size_t v = 0; v < kNodes; ++v) labels.push_back(v % 2);
  for (int64_t v = int64_t{kNodes} - 1; v > 40; --v) split.push_back(v);
  using Scores = std::vector<SplitScore>;
  const std::function<absl::StatusOr<Scores>(InferenceInput)> evaluate =
      [&](const InferenceInput& input) {
        return Evaluate(input, labels, {split, {1, 2, 3}});
      };
  for (const uint32_t layers : {1, 3}) {
    const auto world = [layers] {
      return std::make_unique<SmallGraph>(layers, /*classes=*/2,
                                          RandomFeatures());
    };
    FGNN_ASSERT_OK_AND_ASSIGN(const Scores expected,
                              evaluate(world()->Input()));
    for (const uint32_t hosts : {1, 2, 3, 4}) {
      for (const uint32_t trainers : {1, 2}) {
        SCOPED_TRACE(testing::Message() << layers << " layers, " << hosts
                                        << " hosts, " << trainers);
        totals_.chunks = 0;
        EXPECT_EQ(OnHosts<Scores>(hosts, trainers, world, evaluate), expected);
        // Each host gets the chunks of the others, which are three or more a
        // layer.
        EXPECT_GE(totals_.chunks, (hosts - 1) * 3 * layers);
      }
    }
  }
}

TEST_F(HostsInferenceTest, ScoresOfTargetsHaveTheBitsOfOneHost) {
  static constexpr uint32_t kTargets = 3;
  std::vector<int64_t> split;
  for (int64_t v = 0; v < int64_t{kNodes}; v += 2) split.push_back(v);
  std::vector<uint8_t> sets(size_t{kNodes} * kTargets);
  for (size_t i = 0; i < sets.size(); ++i) sets[i] = i * 7 % 5 < 2 ? 1 : 0;
  const TargetView targets = {reinterpret_cast<const std::byte*>(sets.data()),
                              TargetType::kBits, kNodes, kTargets};
  using Scores = std::vector<SplitScore>;
  const std::function<absl::StatusOr<Scores>(InferenceInput)> evaluate =
      [&](const InferenceInput& input) {
        return EvaluateTargets(input, targets, {split, {1, 3}});
      };
  for (const Objective objective :
       {Objective::kLabelSets, Objective::kValues}) {
    const auto world = [objective] {
      return std::make_unique<SmallGraph>(2, kTargets, RandomFeatures(), 3,
                                          objective);
    };
    FGNN_ASSERT_OK_AND_ASSIGN(const Scores expected,
                              evaluate(world()->Input()));
    EXPECT_EQ(OnHosts<Scores>(2, 2, world, evaluate), expected);
  }
}

TEST_F(HostsInferenceTest, RanksOfLinksHaveTheBitsOfOneHost) {
  std::vector<int64_t> edges;
  for (int64_t v = 0; v < 60; ++v) {
    edges.push_back(v);
    edges.push_back((v + 1) % int64_t{kNodes});
  }
  const EdgeView view(absl::MakeConstSpan(edges));
  using Ranks = std::vector<double>;
  const std::function<absl::StatusOr<Ranks>(InferenceInput)> evaluate =
      [&](const InferenceInput& input) -> absl::StatusOr<Ranks> {
    FGNN_ASSIGN_OR_RETURN(const std::vector<EdgeRanking> ranks,
                          RankEdges(input, absl::MakeConstSpan(&view, 1)));
    return Ranks{ranks[0].mean_rank, ranks[0].mrr, *ranks[0].roc_auc};
  };
  const auto world = [] {
    return std::make_unique<SmallGraph>(2, /*classes=*/0, RandomFeatures());
  };
  FGNN_ASSERT_OK_AND_ASSIGN(const Ranks expected, evaluate(world()->Input()));
  EXPECT_EQ(OnHosts<Ranks>(2, 2, world, evaluate), expected);
}

TEST_F(HostsInferenceTest, AHostThatMakesItAgainChangesNoBit) {
  std::vector<int64_t> labels(kNodes, 1);
  const auto world = [] {
    return std::make_unique<SmallGraph>(2, /*classes=*/2, RandomFeatures());
  };
  const std::vector<int64_t> split = {1, 2, 3, 1200, 700};
  FGNN_ASSERT_OK_AND_ASSIGN(const auto expected,
                            Evaluate(world()->Input(), labels, {split}));
  using Scores = std::vector<SplitScore>;
  using Work = std::function<absl::StatusOr<Scores>(InferenceInput)>;
  const auto evaluate = [&](const std::function<absl::Status()>& check) {
    return Work([&, check](InferenceInput input) {
      input.check = check;
      return Evaluate(input, labels, {split});
    });
  };
  // Host 1 ends after so many questions, and begins again in other memory.
  for (const int questions : {1, 4, 9, 14}) {
    SCOPED_TRACE(questions);
    std::deque<ChunkSeat> seats(2);
    DirectLinks links(&seats);
    std::atomic<bool> is_over = false;
    const std::function<bool()> stops = [&is_over, check = UntilFar()] {
      return is_over || !check().ok();
    };
    const auto follow = [&](const HostMemory& host, uint32_t other) {
      return std::thread([&, board = host.board(), other] {
        FollowChunks(board, &links, other, &totals_, stops).IgnoreError();
      });
    };
    const HostMemory head(2, 0);
    const HostMemory first(2, 1);
    const HostMemory second(2, 1);
    seats[0].Put(head.served);
    seats[1].Put(first.served);
    std::vector<std::thread> threads;
    threads.push_back(follow(head, 1));
    threads.push_back(follow(first, 0));
    absl::StatusOr<Scores> of_head;
    threads.emplace_back([&] {
      of_head = EvaluateOn<Scores>(head, *world(), evaluate(UntilFar()));
    });
    std::atomic<int> asked = 0;
    EvaluateOn<Scores>(first, *world(), evaluate([&]() -> absl::Status {
                         return ++asked > questions
                                    ? absl::CancelledError("given up")
                                    : absl::OkStatus();
                       }))
        .status()
        .IgnoreError();
    seats[1].Put(second.served);
    threads.push_back(follow(second, 0));
    FGNN_ASSERT_OK(
        EvaluateOn<Scores>(second, *world(), evaluate(UntilFar())).status());
    threads[2].join();
    is_over = true;
    for (const size_t i : {0, 1, 3}) threads[i].join();
    FGNN_ASSERT_OK(of_head.status());
    EXPECT_EQ(*of_head, expected);
  }
}

}  // namespace
}  // namespace fgnn
