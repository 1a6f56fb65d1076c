// Trainers of which one is as slow as can be, on weights that may be old.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <memory>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include "tests/unit/shared/queue/segment_for_tests.h"

namespace fgnn {
namespace {

constexpr uint64_t kSteps = 10'000;
constexpr uint32_t kStaleness = 3;
constexpr OwnerIndex kSampler{1};
constexpr OwnerIndex kSlowTrainer{2};

SegmentOptions Options() {
  SegmentOptions options = SmallOptions();
  options.num_slots = 8;
  options.batches_per_epoch = 1000;
  options.epochs = kSteps / options.batches_per_epoch;
  options.batches_per_step = 1;
  options.staleness = kStaleness;
  return options;
}

bool IsAll(absl::Span<const float> values, uint64_t number) {
  return std::all_of(values.begin(), values.end(), [number](float value) {
    return value == static_cast<float>(number);
  });
}

// Version v of the weights is v in every place, and a batch's gradient its
// seq. A step finds that of its own batch.
absl::Status MakeStep(StepLease lease) {
  const uint64_t version = lease.new_version();
  if (!lease.is_initial()) {
    EXPECT_TRUE(IsAll(lease.old_weights(), version - 1));
    EXPECT_TRUE(IsAll(lease.gradients().front(), version - 1));
  }
  std::fill(lease.new_weights().begin(), lease.new_weights().end(),
            static_cast<float>(version));
  return std::move(lease).Publish();
}

class StaleTrainersTest : public testing::Test {
 protected:
  // Nothing is left to do for others while `seq` is not done.
  bool OthersAreStuck(const GradientBoard& board, BatchSeq seq) const {
    const std::optional<OpenSteps> open = board.FindOpenSteps();
    if (!open.has_value() || open->first != StepNumber(seq.value()))
      return false;
    for (BatchSeq other = seq + 1; other < open->last_batch; ++other) {
      if (!board.IsDone({other})) return false;
    }
    return true;
  }

  // Computes a gradient with the newest weights. A slow trainer takes until the
  // others can do no more.
  void Compute(GradientBoard& board, BatchSeq seq, bool is_slow) {
    const uint64_t version = *board.version();
    ASSERT_LE(version, seq.value());
    ASSERT_LE(seq.value() - version, kStaleness);
    EXPECT_TRUE(IsAll(board.weights(version), version));
    while (is_slow) {
      const uint32_t seen = board.changes();
      if (OthersAreStuck(board, seq)) break;
      ASSERT_THAT(board.WaitForChange(seen, deadline_), IsOk());
      ASSERT_LT(MonotonicClock::now(), deadline_);
    }
    EXPECT_TRUE(IsAll(board.weights(version), version));
    const absl::Span<float> gradient = board.gradient({seq});
    std::fill(gradient.begin(), gradient.end(),
              static_cast<float>(seq.value()));
    BatchRecord record;
    record.staleness = static_cast<uint32_t>(seq.value() - version);
    ASSERT_THAT(board.MarkDone({seq}, record), IsOk());
    batches_of_[record.staleness].fetch_add(1);
  }

  // To the end of the job, or until one of the others fails. `slot`: a batch
  // that it has already.
  void Work(OwnerIndex owner, GlobalQueue* queue,
            std::optional<ReadSlot> slot) {
    Train(owner, queue, std::move(slot));
    if (HasFailure()) queue->Stop();
  }

  void Train(OwnerIndex owner, GlobalQueue* queue,
             std::optional<ReadSlot> slot) {
    GradientBoard board(segment_.get(), owner);
    while (board.version() != kSteps && !HasFailure()) {
      const uint32_t seen = board.changes();
      if (slot.has_value()) {
        Compute(board, slot->seq(), owner == kSlowTrainer);
        ASSERT_THAT(std::move(*slot).Release(), IsOk());
      }
      if (std::optional<StepLease> lease = board.TryLease()) {
        ASSERT_THAT(MakeStep(*std::move(lease)), IsOk());
      }
      const std::optional<OpenSteps> open = board.FindOpenSteps();
      slot.reset();
      if (!open.has_value()) continue;
      FGNN_ASSERT_OK_AND_ASSIGN(
          slot, queue->TryClaimForReading(BatchSeq(0), open->last_batch));
      if (slot.has_value()) continue;
      ASSERT_THAT(board.WaitForChange(seen, deadline_), IsOk());
      ASSERT_LT(MonotonicClock::now(), deadline_);
    }
  }

  void Sample(GlobalQueue* queue, uint64_t batches) {
    for (uint64_t i = 0; i < batches && !HasFailure(); ++i) {
      FGNN_ASSERT_OK_AND_ASSIGN(auto slot, queue->ClaimForWriting(deadline_));
      ASSERT_TRUE(slot.has_value());
      ASSERT_THAT(std::move(*slot).Publish(), IsOk());
    }
  }

  std::unique_ptr<Segment> segment_ = MakeSegment(Options());
  const Deadline deadline_ = DeadlineIn(std::chrono::seconds(240));
  std::atomic<uint64_t> batches_of_[kStaleness + 1] = {};  // By staleness.
};

TEST_F(StaleTrainersTest, NoWeightsAreOlderThanAllowedHoweverSlowATrainerIs) {
  GradientBoard board(segment_.get(), kSlowTrainer);
  ASSERT_THAT(MakeStep(*board.TryLease()), IsOk());
  board.OpenForTraining(StepNumber(kSteps));
  GlobalQueue sampler(segment_.get(), kSampler);
  sampler.OpenForSampling(BatchSeq(kSteps));
  Sample(&sampler, 1);
  GlobalQueue queue(segment_.get(), kSlowTrainer);
  FGNN_ASSERT_OK_AND_ASSIGN(auto first,
                            queue.TryClaimForReading(BatchSeq(0), BatchSeq(1)));
  std::vector<std::thread> threads;
  threads.emplace_back([this, &sampler] { Sample(&sampler, kSteps - 1); });
  threads.emplace_back(
      [this, &queue, &first] { Work(kSlowTrainer, &queue, std::move(first)); });
  for (const OwnerIndex owner : {OwnerIndex{3}, OwnerIndex{4}}) {
    threads.emplace_back([this, owner] {
      GlobalQueue own_queue(segment_.get(), owner);
      Work(owner, &own_queue, std::nullopt);
    });
  }
  for (std::thread& thread : threads) thread.join();
  ASSERT_EQ(board.version(), kSteps);
  EXPECT_TRUE(IsAll(board.weights(kSteps), kSteps));
  uint64_t batches = 0;
  for (const auto& count : batches_of_) batches += count;
  EXPECT_EQ(batches, kSteps);
  // While batch 0 was trained, the others were, with the weights before it.
  EXPECT_GT(batches_of_[kStaleness], 0U);
}

}  // namespace
}  // namespace fgnn
