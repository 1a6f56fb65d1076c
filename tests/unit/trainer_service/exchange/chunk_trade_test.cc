// Hosts that trade the results of an evaluation. Each has memory of its own;
// links call the other host's functions.
#include "trainer_service/exchange/chunk_trade.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mman.h>

#include <atomic>
#include <functional>
#include <memory>
#include <thread>
#include <vector>

#include "shared/base/crc32c.h"
#include "shared/base/status.h"
#include "tests/fakes/status_matchers.h"
#include "tests/unit/trainer_service/exchange/trading_host.h"

namespace fgnn {
namespace {

// What a link makes of a piece on its way.
using PieceFault = std::function<absl::Status(ChunkPiece& piece)>;

// Links to hosts of this process. A chunk goes in two pieces.
class FakeChunkLinks final : public ChunkLinks {
 public:
  explicit FakeChunkLinks(std::vector<TradingHost*> hosts,
                          PieceFault fault = nullptr)
      : hosts_(std::move(hosts)), fault_(std::move(fault)) {}

  absl::Status CopyChunks(uint32_t host, uint64_t evaluation,
                          const ChunkPlace& first, TakePiece take,
                          const std::function<bool()>& is_stopped) override {
    EXPECT_EQ(evaluation, kEvaluation);
    asked.push_back(first);
    return SendChunks(
        *hosts_.at(host)->served(), first, is_stopped,
        [&](ChunkPlace place, absl::Span<const float> rows) {
          const size_t half = rows.size() / 2;
          FGNN_RETURN_IF_ERROR(Pass({place, rows.subspan(0, half)}, take));
          return Pass({place, rows.subspan(half),
                       ExtendCrc32c(0, rows.data(), rows.size() * 4)},
                      take);
        });
  }

  std::vector<ChunkPlace> asked;

 private:
  absl::Status Pass(ChunkPiece piece, TakePiece take) {
    if (fault_) FGNN_RETURN_IF_ERROR(fault_(piece));
    return take(piece);
  }

  const std::vector<TradingHost*> hosts_;
  const PieceFault fault_;
};

bool Never() { return false; }

TEST(ChunkDivisionTest, WorkIsSharedInProportionToTrainers) {
  std::vector<uint64_t> work = {0};
  for (int chunk = 0; chunk < 60; ++chunk) work.push_back(work.back() + 10);
  EXPECT_EQ(EndsOfHosts(DivisionOf(3, 0), work),
            (std::vector<uint32_t>{10, 30, 60}));
  // The first chunk is as much work as all others.
  EXPECT_EQ(EndsOfHosts(DivisionOf(2, 0), {0, 30, 40, 50, 60}),
            (std::vector<uint32_t>{1, 4}));
  EXPECT_EQ(EndsOfHosts(DivisionOf(2, 0), {0}), (std::vector<uint32_t>{0, 0}));
}

TEST(ChunkDivisionTest, MemoryOfOneHostHasNone) {
  UniqueFd fd(::memfd_create("test", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  FGNN_ASSERT_OK_AND_ASSIGN(const ChunkDivision none,
                            ReadChunkDivision(fd.get()));
  EXPECT_FALSE(none.is_divided());
  EXPECT_THAT(ChunkBoard::Open(Duplicate(fd.get())),
              InvalidArgument("not sealed against shrinking"));
  ASSERT_EQ(::fcntl(fd.get(), F_ADD_SEALS, F_SEAL_SHRINK), 0);
  EXPECT_THAT(ChunkBoard::Open(std::move(fd)),
              InvalidArgument("not divided over hosts"));
}

TEST(ChunkBoardTest, EachProcessSeesTheSame) {
  TradingHost host(2, 1);
  const std::unique_ptr<ChunkBoard> other = host.Map();
  FGNN_ASSERT_OK_AND_ASSIGN(const LoopShape* const none, other->Find(1));
  EXPECT_EQ(none, nullptr);
  host.ComputeAll();
  FGNN_ASSERT_OK_AND_ASSIGN(const LoopShape* const shape, other->Find(1));
  ASSERT_NE(shape, nullptr);
  EXPECT_EQ(*shape, TradingHost::ShapeOf(other->division(), 1));
  EXPECT_EQ(other->num_loops(), 2U);
  EXPECT_FALSE(other->IsHere(1, 3));
  EXPECT_TRUE(other->IsHere(1, 4));
  EXPECT_EQ(other->NumHere(1), 8U);
  EXPECT_EQ(other->Rows(1, 4)[6], ValueOf(1, 4, 6));
  EXPECT_FALSE(other->TakeOwn(1, 1).has_value());
  int asked = 0;
  EXPECT_THAT(other->WaitForAll(1,
                                [&asked] {
                                  return ++asked < 3
                                             ? absl::OkStatus()
                                             : absl::CancelledError("gone");
                                }),
              Cancelled("gone"));
}

TEST(ChunkTradeTest, EachHostGetsWhatTheOthersCompute) {
  TradingHost zero(3, 0);
  TradingHost one(3, 1);
  TradingHost two(3, 2);
  const std::vector<TradingHost*> hosts = {&zero, &one, &two};
  for (TradingHost* const host : hosts) host->ComputeAll();
  ChunkTotals totals;
  for (uint32_t self = 0; self < 3; ++self) {
    for (uint32_t other = 0; other < 3; ++other) {
      if (other == self) continue;
      FakeChunkLinks links(hosts);
      FGNN_ASSERT_OK(
          FollowChunks(&hosts[self]->board(), &links, other, &totals, &Never));
      EXPECT_EQ(links.asked.size(), 1U);
    }
    EXPECT_EQ(hosts[self]->NumRight(), kAllChunks) << self;
    FGNN_ASSERT_OK(hosts[self]->board().WaitForAll(
        1, [] { return absl::InternalError("it waits"); }));
  }
  EXPECT_EQ(totals.chunks, 2U * kAllChunks);
}

TEST(ChunkTradeTest, ChunksAreAskedForAgainAfterBreaksAndDamage) {
  TradingHost zero(2, 0);
  TradingHost one(2, 1);
  zero.ComputeAll();
  one.ComputeAll();
  int pieces = 0;
  FakeChunkLinks links({&zero, &one}, [&](ChunkPiece& piece) -> absl::Status {
    // The third piece does not come, and a later one comes with another sum.
    if (++pieces == 3) return absl::UnavailableError("broken");
    if (pieces == 7) piece.crc = *piece.crc + 1;
    return absl::OkStatus();
  });
  ChunkTotals totals;
  FGNN_ASSERT_OK(FollowChunks(&zero.board(), &links, 1, &totals, &Never));
  EXPECT_EQ(zero.NumRight(), kAllChunks);
  EXPECT_THAT(links.asked,
              testing::ElementsAre(ChunkPlace{1, 4}, ChunkPlace{1, 5},
                                   ChunkPlace{1, 6}));
}

TEST(ChunkTradeTest, ADamagedChunkIsNotTakenForOneThatIsHere) {
  TradingHost zero(2, 0);
  TradingHost one(2, 1);
  zero.ComputeAll();
  one.ComputeAll();
  std::atomic<bool> stops = false;
  FakeChunkLinks links({&zero, &one}, [&](ChunkPiece& piece) {
    if (piece.crc.has_value()) {
      piece.crc = *piece.crc + 1;
      stops = true;
    }
    return absl::OkStatus();
  });
  ChunkTotals totals;
  EXPECT_THAT(FollowChunks(&zero.board(), &links, 1, &totals,
                           [&] { return stops.load(); }),
              Cancelled(""));
  EXPECT_FALSE(zero.board().IsHere(1, 4));
  EXPECT_EQ(totals.chunks, 0U);
}

TEST(ChunkTradeTest, AHostWithOtherChunksIsRefused) {
  TradingHost zero(2, 0);
  TradingHost one(3, 1);  // It would have other chunks.
  zero.ComputeAll();
  one.ComputeAll();
  ChunkTotals totals;
  FakeChunkLinks links({&zero, &one});
  EXPECT_THAT(FollowChunks(&zero.board(), &links, 1, &totals, &Never),
              DataLoss("needs chunk"));
}

TEST(ChunkTradeTest, HostsThatComputeMeanwhileEndWithAllChunks) {
  TradingHost zero(2, 0);
  TradingHost one(2, 1);
  const std::vector<TradingHost*> hosts = {&zero, &one};
  ChunkTotals totals;
  std::vector<std::thread> threads;
  for (uint32_t self = 0; self < 2; ++self) {
    threads.emplace_back([&, self] {
      FakeChunkLinks links(hosts);
      EXPECT_THAT(FollowChunks(hosts[self]->served()->board.get(), &links,
                               1 - self, &totals, &Never),
                  IsOk());
    });
    // Trainers wait for all chunks of a loop before they begin the next one.
    threads.emplace_back([&, self] {
      for (const uint32_t loop : {0U, 1U}) {
        hosts[self]->Compute(loop);
        EXPECT_THAT(hosts[self]->board().WaitForAll(loop, UntilFarDeadline()),
                    IsOk());
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(zero.NumRight(), kAllChunks);
  EXPECT_EQ(one.NumRight(), kAllChunks);
}

TEST(ChunkSeatTest, SendsNoChunkBeforeItIsThere) {
  TradingHost host(2, 1);
  host.Publish(kOneChunkLoop);
  host.Publish(1);
  // Trainers are done with one chunk of eight, which is not the first one.
  host.board().NoteHere(1, 5, 6);
  int asked = 0;
  std::vector<ChunkPlace> sent;
  const auto send = [&sent](ChunkPlace place, absl::Span<const float>) {
    sent.push_back(place);
    return absl::OkStatus();
  };
  const auto is_cancelled = [&asked] { return ++asked > 3; };
  EXPECT_THAT(SendChunks(*host.served(), {}, is_cancelled, send),
              Cancelled(""));
  EXPECT_THAT(sent, testing::IsEmpty());
  host.board().NoteHere(1, 4, 5);
  asked = 0;
  EXPECT_THAT(SendChunks(*host.served(), {}, is_cancelled, send),
              Cancelled(""));
  EXPECT_THAT(sent, testing::ElementsAre(ChunkPlace{1, 4}, ChunkPlace{1, 5}));
}

TEST(ChunkSeatTest, ServesOneEvaluationAtATime) {
  TradingHost first(2, 0);
  TradingHost again(2, 0);
  ChunkSeat seat;
  seat.Put(first.served());
  EXPECT_THAT(seat.Find(kJob, 0, kEvaluation + 1), NotFound("is not on this"));
  EXPECT_THAT(seat.Find(kJob, 2, kEvaluation), NotFound(""));
  EXPECT_THAT(seat.Find("other", 0, kEvaluation), NotFound(""));
  FGNN_ASSERT_OK_AND_ASSIGN(const auto found, seat.Find(kJob, 0, kEvaluation));
  // The evaluation is made again in other memory.
  seat.Put(again.served());
  EXPECT_THAT(SendChunks(*found, {}, &Never,
                         [](ChunkPlace, absl::Span<const float>) {
                           return absl::OkStatus();
                         }),
              Cancelled("leaves this host"));
  seat.Remove(first.served());
  EXPECT_THAT(seat.Find(kJob, 0, kEvaluation), IsOk());
  seat.Remove(again.served());
  EXPECT_THAT(seat.Find(kJob, 0, kEvaluation), NotFound(""));
}

}  // namespace
}  // namespace fgnn
