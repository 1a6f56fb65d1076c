// Samplers and trainers in processes of their own are killed while they work a
// job off: see kill_test.h.
#include "tests/fault/kill_test.h"

namespace fgnn {
namespace {

constexpr uint32_t kSamplers = 2;
constexpr uint32_t kTrainers = 2;
// A batch is two turns at least, so there are always turns left to wait for.
constexpr uint64_t kMostTurnsBetweenKills = 16;

void RunSampler(Segment* segment, OwnerIndex owner, uint32_t overflow_block,
                const Report& report) {
  GlobalQueue queue(segment, owner, overflow_block);
  for (;;) {
    auto slot = queue.ClaimForWriting(FarDeadline());
    if (!slot.ok()) ::_exit(absl::IsCancelled(slot.status()) ? 0 : 4);
    if (!slot->has_value()) continue;
    const BatchSeq seq = (*slot)->seq();
    if (!WriteTestTask((*slot)->block(), seq, EdgesOf(seq)).ok()) {
      const absl::Status switched = (*slot)->SwitchToOverflow(FarDeadline());
      if (!switched.ok()) ::_exit(absl::IsCancelled(switched) ? 0 : 5);
      if (!WriteTestTask((*slot)->block(), seq, EdgesOf(seq)).ok()) ::_exit(6);
    }
    if (!std::move(**slot).Publish().ok()) ::_exit(7);
    report();
  }
}

void RunTrainer(Segment* segment, OwnerIndex owner, const Report& report) {
  GlobalQueue queue(segment, owner);
  GradientBoard board(segment, owner);
  for (;;) {
    const uint32_t seen = board.changes();
    const auto turn = TrainerTurn(&queue, &board, segment->options());
    if (absl::IsCancelled(turn.status())) ::_exit(0);
    if (!turn.ok()) ::_exit(8);
    report();
    if (*turn == Turn::kFinished) ::_exit(0);
    if (*turn == Turn::kDone) continue;
    if (absl::IsCancelled(board.WaitForChange(seen, FarDeadline()))) ::_exit(0);
  }
}

SegmentOptions OptionsFor(uint32_t staleness) {
  SegmentOptions options = SmallOptions();
  options.num_slots = 5;
  options.staleness = staleness;
  options.batches_per_epoch = 400;
  return options;
}

// The parameter is the staleness that the job allows.
class QueueKillTest : public KillTest,
                      public testing::WithParamInterface<uint32_t> {
 protected:
  QueueKillTest()
      : KillTest({.seed = 20240607, .num_kills = 200}, OptionsFor(GetParam())) {
  }
};

TEST_P(QueueKillTest, EveryBatchCountsOnceWhoeverDies) {
  WorkOff(
      kSamplers + kTrainers, kMostTurnsBetweenKills,
      [this](uint32_t index) {
        if (index < kSamplers) {
          RunSampler(segment_.get(), OwnerOf(index), index, reports_.report());
        } else {
          RunTrainer(segment_.get(), OwnerOf(index), reports_.report());
        }
      },
      [] {}, [](OwnerIndex) {});
}

INSTANTIATE_TEST_SUITE_P(Staleness, QueueKillTest, testing::Values(0, 2));

}  // namespace
}  // namespace fgnn
