// Processes work off a job whose weights are known, and are killed at random,
// reaped and replaced meanwhile. The seed is printed; FGNN_TEST_SEED and
// FGNN_TEST_KILLS (at most 8000) set others.
#ifndef FGNN_TESTS_FAULT_KILL_TEST_H_
#define FGNN_TESTS_FAULT_KILL_TEST_H_

#include <gtest/gtest.h>

#include <cstdlib>
#include <functional>
#include <iostream>
#include <memory>
#include <vector>

#include "shared/base/philox.h"
#include "tests/fault/child_process.h"
#include "tests/unit/shared/queue/exact_job.h"

namespace fgnn {

class KillTest : public testing::Test {
 protected:
  struct Defaults {
    uint64_t seed;
    uint64_t num_kills;
  };

  // Gives the job of `options` batches for all kills.
  KillTest(const Defaults& defaults, SegmentOptions options)
      : seed_(NumberFrom("FGNN_TEST_SEED", defaults.seed)),
        num_kills_(NumberFrom("FGNN_TEST_KILLS", defaults.num_kills)) {
    options.epochs =
        num_kills_ * kBatchesPerKill / options.batches_per_epoch + 1;
    segment_ = MakeSegment(options);
  }

  static OwnerIndex OwnerOf(uint32_t index) {
    return static_cast<OwnerIndex>(index + 1);
  }
  uint64_t Below(uint64_t range) {
    const PhiloxBlock block = Philox4x32({draw_++, 0, 0, 0}, key_);
    return UniformBelow((uint64_t{block.words[0]} << 32) | block.words[1],
                        range);
  }

  // Runs body(index) in each of the children, which are the owners from 1 on. A
  // kill comes after 1 to most_reports reports. Calls before_kill() before each
  // and reap(owner) behind it. Checks the weights at the end.
  void WorkOff(uint32_t num_children, uint64_t most_reports,
               const std::function<void(uint32_t)>& body,
               const std::function<void()>& before_kill,
               const std::function<void(OwnerIndex)>& reap) {
    std::cout << "FGNN_TEST_SEED=" << seed_ << " FGNN_TEST_KILLS=" << num_kills_
              << std::endl;
    GlobalQueue scheduler(segment_.get(), kNoOwner);
    GradientBoard board(segment_.get(), kNoOwner);
    const StepNumber last(LastVersion(segment_->options()));
    board.OpenForTraining(last);
    std::vector<Child> children;
    const auto start = [&](uint32_t index) {
      return Child::Start([&body, index] { body(index); });
    };
    for (uint32_t i = 0; i < num_children; ++i) children.push_back(start(i));
    const auto kill_one = [&](uint32_t index) {
      children[index].Kill();
      scheduler.ReclaimSlotsOf(OwnerOf(index));
      board.ReclaimLeaseOf(OwnerOf(index));
      reap(OwnerOf(index));
    };
    for (uint64_t kill = 1; kill <= num_kills_; ++kill) {
      before_kill();
      // Samplers get their work bit by bit, so that the job outlasts the kills.
      scheduler.OpenForSampling(BatchSeq(kill * kBatchesPerKill));
      ASSERT_TRUE(reports_.Await(1 + Below(most_reports)))
          << "nothing moves after " << kill - 1 << " kills";
      const auto victim = static_cast<uint32_t>(Below(num_children));
      kill_one(victim);
      children[victim] = start(victim);
    }
    scheduler.OpenForSampling(BatchSeq(UINT64_MAX));
    // Takes the reports, so that nobody waits for room in the pipe.
    while (board.version() != last.value()) {
      ASSERT_TRUE(reports_.Await(1)) << "the rest is not worked off";
    }
    for (uint32_t i = 0; i < num_children; ++i) kill_one(i);
    FinishAlone(segment_.get(), OwnerIndex{11}, OwnerIndex{12},
                /*overflow_block=*/0);
    ExpectExactResult(segment_.get());
  }

  std::unique_ptr<Segment> segment_;
  Reports reports_;

 private:
  static constexpr uint64_t kBatchesPerKill = 20;

  static uint64_t NumberFrom(const char* variable, uint64_t otherwise) {
    const char* text = std::getenv(variable);
    return text == nullptr ? otherwise : std::strtoull(text, nullptr, 10);
  }

  const uint64_t seed_;
  const uint64_t num_kills_;
  const PhiloxKey key_ =
      MakePhiloxKey(seed_, 0, 0, 0, Purpose::kGenerateDataset);
  uint32_t draw_ = 0;
};

}  // namespace fgnn

#endif  // FGNN_TESTS_FAULT_KILL_TEST_H_
