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
    auto slots = queue.ClaimBatchForWriting(FarDeadline());
    if (!slots.ok()) ::_exit(absl::IsCancelled(slots.status()) ? 0 : 4);
    for (WriteSlot& slot : *slots) {
      const absl::Status written = WriteExactTask(slot, FarDeadline());
      if (!written.ok()) ::_exit(absl::IsCancelled(written) ? 0 : 5);
    }
    for (WriteSlot& slot : *slots) {
      if (!std::move(slot).Publish().ok()) ::_exit(7);
      report();
    }
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

struct Law {
  uint32_t staleness;
  uint32_t parts;
};

SegmentOptions OptionsFor(const Law& law) {
  SegmentOptions options = SmallOptions();
  options.parts = law.parts;
  options.num_slots = law.parts == 1 ? 5 : 4 * law.parts;
  options.num_overflow_blocks = kSamplers * law.parts;
  options.staleness = law.staleness;
  options.batches_per_epoch = 400;
  return options;
}

class QueueKillTest : public KillTest, public testing::WithParamInterface<Law> {
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
          RunSampler(segment_.get(), OwnerOf(index), index * GetParam().parts,
                     reports_.report());
        } else {
          RunTrainer(segment_.get(), OwnerOf(index), reports_.report());
        }
      },
      [] {}, [](OwnerIndex) {});
}

INSTANTIATE_TEST_SUITE_P(Laws, QueueKillTest,
                         testing::Values(Law{0, 1}, Law{2, 1}, Law{0, 2},
                                         Law{0, 3}));

}  // namespace
}  // namespace fgnn
