// Claims of parts under random schedules, against a plain reference.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <random>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "shared/queue/segment_layout.h"
#include "shared/queue/slot_table.h"
#include "tests/unit/shared/queue/segment_for_tests.h"

namespace fgnn {
namespace {

struct Law {
  uint32_t parts;
  uint32_t batches_per_step;
};

// Samplers and trainers that do one thing after the other, in a random order,
// and die now and then.
class RandomPartsTest : public testing::TestWithParam<Law> {
 protected:
  static constexpr uint32_t kSamplers = 2;
  static constexpr uint32_t kTrainers = 3;

  void Play(uint64_t seed) {
    random_.seed(seed);
    options_ = SmallOptions();
    options_.parts = GetParam().parts;
    options_.num_overflow_blocks = kSamplers * GetParam().parts;
    options_.batches_per_step = GetParam().batches_per_step;
    options_.num_slots = GetParam().parts * static_cast<uint32_t>(2 + Below(3));
    segment_ = MakeSegment(options_);
    GlobalQueue scheduler(segment_.get(), kNoOwner);
    samplers_.clear();
    trainers_.clear();
    for (uint32_t i = 0; i < kSamplers; ++i) {
      samplers_.push_back(
          {GlobalQueue(segment_.get(), OwnerIndex(1 + i), i * GetParam().parts),
           {}});
    }
    for (uint32_t i = 0; i < kTrainers; ++i) {
      trainers_.push_back(
          {GlobalQueue(segment_.get(), OwnerIndex(10 + i)), {}});
    }
    open_ = 0;
    for (int turn = 0; turn < 400; ++turn) {
      if (Below(8) == 0) scheduler.OpenForSampling(BatchSeq(++open_));
      SamplerTurn(samplers_[Below(kSamplers)]);
      TrainerTurn(trainers_[Below(kTrainers)]);
      if (Below(20) == 0) {
        // Both die. Their slots are reaped before these objects let them go.
        scheduler.ReclaimSlotsOf(OwnerIndex{1});
        scheduler.ReclaimSlotsOf(OwnerIndex{11});
        samplers_[0].held.clear();
        trainers_[1].held.clear();
      }
      if (HasFatalFailure()) return;
    }
    for (Hand<WriteSlot>& sampler : samplers_) sampler.held.clear();
    for (Hand<ReadSlot>& trainer : trainers_) trainer.held.clear();
  }

 private:
  template <typename Slot>
  struct Hand {
    GlobalQueue queue;
    std::vector<Slot> held;
  };

  uint64_t Below(uint64_t n) { return random_() % n; }

  // The slot's word of a task, by arithmetic of its own.
  SlotWord WordOf(uint64_t task) const {
    return SlotWord::Unpack(
        segment_->regions().slot_word(task % options_.num_slots).load());
  }
  bool IsAt(uint64_t task, SlotState state) const {
    const SlotWord word = WordOf(task);
    return word.generation == task / options_.num_slots && word.state == state;
  }
  // Whether trainers may take the task: rule b of the queue's README.
  bool IsClaimable(uint64_t task) const {
    if (!IsAt(task, SlotState::kReady)) return false;
    const uint64_t parts = options_.parts;
    for (uint64_t part = task / parts * parts;
         part < task / parts * parts + parts; ++part) {
      const bool is_released =
          WordOf(part).generation > part / options_.num_slots;
      if (!is_released && !IsAt(part, SlotState::kReady) &&
          !IsAt(part, SlotState::kReading)) {
        return false;
      }
    }
    return true;
  }
  template <typename Predicate>
  std::optional<uint64_t> Lowest(uint64_t begin, uint64_t end,
                                 Predicate predicate) const {
    for (uint64_t task = begin; task < end; ++task) {
      if (predicate(task)) return task;
    }
    return std::nullopt;
  }

  void SamplerTurn(Hand<WriteSlot>& sampler) {
    if (sampler.held.empty()) {
      std::vector<uint64_t> expected;
      const uint64_t parts = options_.parts;
      const uint64_t end = std::min<uint64_t>(open_, 30) * parts;
      // Batches with a slot that holds an earlier one are left out.
      const auto lowest = Lowest(0, end, [&](uint64_t task) {
        const uint64_t first = task / parts * parts;
        for (uint64_t other = first; other < first + parts; ++other) {
          if (WordOf(other).generation < other / options_.num_slots) {
            return false;
          }
        }
        return IsAt(task, SlotState::kFree);
      });
      for (uint64_t part = 0; lowest.has_value() && part < parts; ++part) {
        const uint64_t task = *lowest / parts * parts + part;
        if (IsAt(task, SlotState::kFree)) expected.push_back(task);
      }
      auto claimed = sampler.queue.TryClaimBatchForWriting();
      ASSERT_THAT(claimed, IsOk());
      std::vector<uint64_t> found;
      for (const WriteSlot& slot : *claimed)
        found.push_back(slot.task().value());
      ASSERT_EQ(found, expected);
      sampler.held = *std::move(claimed);
      return;
    }
    const size_t which = Below(8) == 0 ? Below(sampler.held.size()) : 0;
    WriteSlot slot = std::move(sampler.held[which]);
    sampler.held.erase(sampler.held.begin() + static_cast<int64_t>(which));
    if (Below(4) == 0) return;  // Given back.
    if (Below(3) == 0) {
      const absl::Status switched = slot.SwitchToOverflow(NoWait());
      if (absl::IsDeadlineExceeded(switched)) return;
      ASSERT_THAT(switched, IsOk());
    }
    ASSERT_THAT(std::move(slot).Publish(), IsOk());
  }

  void TrainerTurn(Hand<ReadSlot>& trainer) {
    if (trainer.held.empty() || Below(3) == 0) {
      const BatchSeq first(Below(4) == 0 ? Below(30) : 0);
      const BatchSeq last(first.value() + Below(30));
      std::optional<uint32_t> home;
      if (Below(2) == 0) home = static_cast<uint32_t>(Below(options_.parts));
      const uint64_t parts = options_.parts;
      const auto expected = Lowest(
          std::min<uint64_t>(first.value(), 30) * parts,
          std::min<uint64_t>(last.value(), 30) * parts, [&](uint64_t task) {
            return (!home.has_value() || task % parts == *home) &&
                   IsClaimable(task);
          });
      auto claimed = trainer.queue.TryClaimForReading(first, last, home);
      ASSERT_THAT(claimed, IsOk());
      ASSERT_EQ(claimed->has_value(), expected.has_value());
      if (!expected.has_value()) return;
      ASSERT_EQ((*claimed)->task().value(), *expected);
      ++num_claims_;
      trainer.held.push_back(**std::move(claimed));
      return;
    }
    ReadSlot slot = std::move(trainer.held.back());
    trainer.held.pop_back();
    const uint64_t what = Below(8);
    if (what == 0) return;  // Given back.
    if (what == 1) {
      ASSERT_THAT(std::move(slot).Reject(), IsOk());
    } else {
      ASSERT_THAT(std::move(slot).Release(), IsOk());
    }
  }

  std::mt19937_64 random_;
  SegmentOptions options_;
  std::unique_ptr<Segment> segment_;
  std::vector<Hand<WriteSlot>> samplers_;
  std::vector<Hand<ReadSlot>> trainers_;
  uint64_t open_ = 0;  // Batches below it are opened.

 protected:
  uint64_t num_claims_ = 0;
};

TEST_P(RandomPartsTest, ClaimsAreThoseOfThePlainRules) {
  for (uint64_t seed = 0; seed < 100; ++seed) {
    SCOPED_TRACE(absl::StrCat("seed=", seed));
    Play(seed);
    if (HasFatalFailure()) return;
  }
  EXPECT_GT(num_claims_, 1000U);
}

INSTANTIATE_TEST_SUITE_P(Laws, RandomPartsTest,
                         testing::Values(Law{1, 1}, Law{2, 1}, Law{2, 2},
                                         Law{3, 1}, Law{3, 2}));

}  // namespace
}  // namespace fgnn
