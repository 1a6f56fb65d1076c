// Samplers and trainers in processes of their own are killed at random, reaped
// and replaced, while they work a job off whose weights are known. The seed is
// printed; FGNN_TEST_SEED and FGNN_TEST_KILLS (at most 8000) set others.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <iostream>
#include <vector>

#include "shared/base/philox.h"
#include "tests/fault/child_process.h"
#include "tests/unit/shared/queue/exact_job.h"

namespace fgnn {
namespace {

constexpr uint64_t kDefaultSeed = 20240607;
constexpr uint64_t kDefaultKills = 200;
// A batch is two turns at least, so there are always turns left to wait for.
constexpr uint64_t kMostTurnsBetweenKills = 16;
constexpr uint64_t kBatchesPerKill = 20;
constexpr uint64_t kBatchesPerEpoch = 400;
constexpr int kSamplers = 2;
constexpr int kTrainers = 2;

uint64_t NumberFrom(const char* variable, uint64_t otherwise) {
  const char* text = std::getenv(variable);
  return text == nullptr ? otherwise : std::strtoull(text, nullptr, 10);
}

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

// The parameter is the staleness that the job allows.
class QueueKillTest : public testing::TestWithParam<uint32_t> {
 protected:
  SegmentOptions Options() const {
    SegmentOptions options = SmallOptions();
    options.num_slots = 5;
    options.staleness = GetParam();
    options.batches_per_epoch = kBatchesPerEpoch;
    options.epochs = num_kills_ * kBatchesPerKill / kBatchesPerEpoch + 1;
    return options;
  }
  // Index 0 … kSamplers - 1 are samplers, then come the trainers.
  OwnerIndex OwnerOf(int index) { return static_cast<OwnerIndex>(index + 1); }
  Child StartChild(int index) {
    return Child::Start([this, index] {
      if (index < kSamplers) {
        RunSampler(segment_.get(), OwnerOf(index), static_cast<uint32_t>(index),
                   reports_.report());
      } else {
        RunTrainer(segment_.get(), OwnerOf(index), reports_.report());
      }
    });
  }
  uint64_t Below(uint64_t range) {
    const PhiloxBlock block = Philox4x32({draw_++, 0, 0, 0}, key_);
    return UniformBelow((uint64_t{block.words[0]} << 32) | block.words[1],
                        range);
  }

  const uint64_t seed_ = NumberFrom("FGNN_TEST_SEED", kDefaultSeed);
  const uint64_t num_kills_ = NumberFrom("FGNN_TEST_KILLS", kDefaultKills);
  const PhiloxKey key_ =
      MakePhiloxKey(seed_, 0, 0, 0, Purpose::kGenerateDataset);
  uint32_t draw_ = 0;
  std::unique_ptr<Segment> segment_ = MakeSegment(Options());
  Reports reports_;
};

TEST_P(QueueKillTest, EveryBatchCountsOnceWhoeverDies) {
  std::cout << "FGNN_TEST_SEED=" << seed_ << " FGNN_TEST_KILLS=" << num_kills_
            << std::endl;
  GlobalQueue scheduler(segment_.get(), kNoOwner);
  GradientBoard board(segment_.get(), kNoOwner);
  board.OpenForTraining(StepNumber(LastVersion(segment_->options())));
  std::vector<Child> children;
  for (int i = 0; i < kSamplers + kTrainers; ++i) {
    children.push_back(StartChild(i));
  }
  const auto reap = [&](int index) {
    children[static_cast<size_t>(index)].Kill();
    scheduler.ReclaimSlotsOf(OwnerOf(index));
    board.ReclaimLeaseOf(OwnerOf(index));
  };
  for (uint64_t kill = 1; kill <= num_kills_; ++kill) {
    // Samplers get their work bit by bit, so that the job outlasts the kills.
    scheduler.OpenForSampling(BatchSeq(kill * kBatchesPerKill));
    ASSERT_TRUE(reports_.Await(1 + Below(kMostTurnsBetweenKills)))
        << "nothing moves after " << kill - 1 << " kills";
    const int victim = static_cast<int>(Below(children.size()));
    reap(victim);
    children[static_cast<size_t>(victim)] = StartChild(victim);
  }
  scheduler.OpenForSampling(BatchSeq(UINT64_MAX));
  // Takes the reports, so that nobody waits for room in the pipe.
  while (board.version() != LastVersion(segment_->options())) {
    ASSERT_TRUE(reports_.Await(1)) << "the rest is not worked off";
  }
  for (int i = 0; i < kSamplers + kTrainers; ++i) reap(i);
  FinishAlone(segment_.get(), OwnerIndex{11}, OwnerIndex{12},
              /*overflow_block=*/0);
  ExpectExactResult(segment_.get());
}

INSTANTIATE_TEST_SUITE_P(Staleness, QueueKillTest, testing::Values(0, 2));

}  // namespace
}  // namespace fgnn
