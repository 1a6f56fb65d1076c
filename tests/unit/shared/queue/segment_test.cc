// A segment is made where it fits, and nothing leads out of it.
#include "shared/queue/segment.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "shared/base/philox.h"
#include "shared/queue/segment_layout.h"
#include "tests/unit/shared/queue/segment_for_tests.h"

namespace fgnn {
namespace {

UniqueFd Duplicate(const Segment& segment) {
  return UniqueFd(::dup(segment.fd()));
}

TEST(SegmentTest, AnotherMappingSeesTheSameMemory) {
  const SegmentOptions options = SmallOptions();
  const std::unique_ptr<Segment> first = MakeSegment(options);
  FGNN_ASSERT_OK_AND_ASSIGN(const auto second,
                            Segment::Attach(Duplicate(*first), kTestJob));
  EXPECT_EQ(second->total_bytes(), first->total_bytes());
  EXPECT_EQ(second->options().num_slots, options.num_slots);
  EXPECT_EQ(second->options().overflow_bytes, options.overflow_bytes);
  EXPECT_EQ(second->options().epochs, options.epochs);
  EXPECT_EQ(second->options().num_parameters, options.num_parameters);
  EXPECT_EQ(second->options().batches_per_step, options.batches_per_step);

  GlobalQueue scheduler(first.get(), kNoOwner);
  GlobalQueue sampler(first.get(), OwnerIndex{1});
  GlobalQueue trainer(second.get(), OwnerIndex{2});
  scheduler.OpenForSampling(BatchSeq(1));
  ProduceNext(&sampler, BatchSeq(0));
  FGNN_ASSERT_OK_AND_ASSIGN(
      auto slot, trainer.TryClaimForReading(BatchSeq(0), BatchSeq(1)));
  ASSERT_TRUE(slot.has_value());
  EXPECT_TRUE(HoldsTestTask(slot->block(), BatchSeq(0)));
}

TEST(SegmentTest, AllBlocksOfTasksLieInOneRangeOfPages) {
  const SegmentOptions options = SmallOptions();
  ASSERT_GT(options.num_overflow_blocks, 0U);
  const std::unique_ptr<Segment> segment = MakeSegment(options);
  const absl::Span<std::byte> all = segment->task_blocks();
  EXPECT_EQ(reinterpret_cast<uintptr_t>(all.data()) % 4096, 0U);
  const Segment::Regions& regions = segment->regions();
  EXPECT_EQ(regions.slot_block(0).data(), all.data());
  const absl::Span<std::byte> last_slot =
      regions.slot_block(options.num_slots - 1);
  const absl::Span<std::byte> last =
      regions.overflow_block(options.num_overflow_blocks - 1);
  EXPECT_LT(last_slot.data(), last.data());
  EXPECT_LE(last.data() + last.size(), all.data() + all.size());
  EXPECT_LT(reinterpret_cast<std::byte*>(regions.gradient(0).data()),
            all.data());
}

TEST(SegmentTest, KeepsWhatMemoryIsPlannedFor) {
  SegmentOptions options = SmallOptions();
  options.most_samplers = 3;
  options.most_trainers = 0;
  options.topology_on_host = 1;
  options.hidden_on_gpu = 1;
  const std::unique_ptr<Segment> segment = MakeSegment(options);
  FGNN_ASSERT_OK_AND_ASSIGN(const std::unique_ptr<Segment> other,
                            Segment::Attach(Duplicate(*segment), kTestJob));
  EXPECT_EQ(other->options().most_samplers, 3U);
  EXPECT_EQ(other->options().most_trainers, 0U);
  EXPECT_EQ(other->options().topology_on_host, 1U);
  EXPECT_EQ(other->options().hidden_on_gpu, 1U);
}

TEST(SegmentTest, WhatIsCachedMayChange) {
  SegmentOptions options = SmallOptions();
  options.cache_rows = 10;
  options.standby_cache_rows = 4;
  const std::unique_ptr<Segment> segment = MakeSegment(options);
  FGNN_ASSERT_OK_AND_ASSIGN(const std::unique_ptr<Segment> other,
                            Segment::Attach(Duplicate(*segment), kTestJob));
  EXPECT_EQ(other->cache_plan(), (CachePlan{0, 10, 4}));
  segment->SetCachePlan({.rank_order_key = 5, .rows = 7, .standby_rows = 9});
  EXPECT_EQ(other->cache_plan(), (CachePlan{5, 7, 9}));
  // The first plan is the options', and they stay.
  EXPECT_EQ(other->options().cache_rows, 10U);
  EXPECT_EQ(other->options().standby_cache_rows, 4U);
}

TEST(SegmentTest, TheRateFactorIsOneUntilItIsSet) {
  const std::unique_ptr<Segment> segment = MakeSegment(SmallOptions());
  FGNN_ASSERT_OK_AND_ASSIGN(const std::unique_ptr<Segment> other,
                            Segment::Attach(Duplicate(*segment), kTestJob));
  EXPECT_EQ(other->rate_factor(), 1);
  segment->SetRateFactor(0.1);
  EXPECT_EQ(other->rate_factor(), 0.1);
}

TEST(SegmentTest, TheFirstTrainerSaysOfWhichKindAllAre) {
  const std::unique_ptr<Segment> segment = MakeSegment(SmallOptions());
  FGNN_ASSERT_OK_AND_ASSIGN(const std::unique_ptr<Segment> other,
                            Segment::Attach(Duplicate(*segment), kTestJob));
  EXPECT_EQ(other->AgreeOnTrainers(7), 7U);
  EXPECT_EQ(segment->AgreeOnTrainers(8), 7U);
  EXPECT_EQ(other->AgreeOnTrainers(7), 7U);
}

TEST(SegmentTest, NobodyCanChangeItsSize) {
  const std::unique_ptr<Segment> segment = MakeSegment(SmallOptions());
  EXPECT_NE(::ftruncate(segment->fd(), 0), 0);
  EXPECT_NE(::ftruncate(segment->fd(), 1 << 24), 0);
  EXPECT_NE(::fcntl(segment->fd(), F_ADD_SEALS, F_SEAL_WRITE), 0);
  EXPECT_NE(::fcntl(segment->fd(), F_GETFD) & FD_CLOEXEC, 0);
}

TEST(SegmentTest, WhatDoesNotFitIsRefusedWithNeedAndHave) {
  SegmentOptions options = SmallOptions();
  options.slot_bytes = uint64_t{1} << 40;
  EXPECT_THAT(Segment::Create(options),
              ResourceExhausted("needs 4", "available", "lower queue.slots"));
  // So large that a sum of sizes would wrap.
  options.num_slots = 4096;
  options.slot_bytes = uint64_t{1} << 42;
  options.overflow_bytes = uint64_t{1} << 42;
  options.num_parameters = uint64_t{1} << 38;
  options.batches_per_step = 1024;
  options.batches_per_epoch = uint64_t{1} << 47;
  options.epochs = 1;
  EXPECT_THAT(Segment::Create(options), ResourceExhausted());
}

SegmentOptions RandomOptions(uint64_t seed) {
  const PhiloxKey key = MakePhiloxKey(seed, 0, 0, 0, Purpose::kGenerateDataset);
  uint32_t draw = 0;
  const auto below = [&](uint64_t range) {
    const PhiloxBlock block = Philox4x32({draw++, 0, 0, 0}, key);
    return UniformBelow((uint64_t{block.words[0]} << 32) | block.words[1],
                        range);
  };
  SegmentOptions options;
  options.job_key = kTestJob;
  options.num_slots = static_cast<uint32_t>(1 + below(20));
  options.slot_bytes = sizeof(TaskHeader) + below(5000);
  options.parts = 1 + below(3);
  if (options.parts > 1) {
    options.num_slots = static_cast<uint32_t>((2 + below(10)) * options.parts);
    options.num_messages = below(4);
  }
  options.num_overflow_blocks = static_cast<uint32_t>(below(4));
  options.overflow_bytes = sizeof(TaskHeader) + below(9000);
  options.batches_per_epoch = 1 + below(50);
  options.epochs = 1 + below(5);
  options.batches_per_step = static_cast<uint32_t>(1 + below(9));
  options.num_parameters = below(3000);
  options.optimizer_floats_per_parameter = static_cast<uint32_t>(below(4));
  return options;
}

// Everything in a segment as [begin, end), by way of its accessors.
std::vector<std::pair<uintptr_t, uintptr_t>> Everything(
    const Segment& segment) {
  const SegmentOptions& options = segment.options();
  const Segment::Regions& regions = segment.regions();
  std::vector<std::pair<uintptr_t, uintptr_t>> all;
  const auto add = [&all](const void* begin, size_t bytes) {
    const auto address = reinterpret_cast<uintptr_t>(begin);
    all.emplace_back(address, address + bytes);
  };
  add(&regions.control(), sizeof(ControlWords));
  for (uint32_t slot = 0; slot < options.num_slots; ++slot) {
    add(regions.slot_block(slot).data(), options.slot_bytes);
  }
  for (uint32_t i = 0; i < options.num_overflow_blocks; ++i) {
    add(regions.overflow_block(i).data(), options.overflow_bytes);
  }
  const uint64_t num_places = options.batches_per_step * options.parts;
  for (uint32_t place = 0; place < num_places; ++place) {
    add(regions.gradient(place).data(), options.num_parameters * 4);
  }
  for (uint64_t i = 0; i < options.batches_per_epoch * options.parts; ++i) {
    add(regions.record_words(i), sizeof(BatchRecord));
  }
  for (const uint64_t version : {0, 1}) {
    add(regions.weights(version).data(), options.num_parameters * 4);
    add(regions.optimizer_state(version).data(),
        options.num_parameters * options.optimizer_floats_per_parameter * 4);
  }
  return all;
}

TEST(SegmentTest, RegionsAreAlignedApartAndWithinTheSegment) {
  for (uint64_t seed = 0; seed < 100; ++seed) {
    SCOPED_TRACE(absl::StrCat("seed=", seed));
    const std::unique_ptr<Segment> segment = MakeSegment(RandomOptions(seed));
    auto all = Everything(*segment);
    std::sort(all.begin(), all.end());
    for (size_t i = 1; i < all.size(); ++i) {
      EXPECT_LE(all[i - 1].second, all[i].first);
    }
    // The control words lie 64 bytes or more behind the mapping's start, which
    // is on a page.
    const uintptr_t base =
        reinterpret_cast<uintptr_t>(&segment->regions().control()) / 4096 *
        4096;
    EXPECT_GE(all.front().first, base + sizeof(SegmentHeader));
    EXPECT_LE(all.back().second,
              base + SegmentLayout::Of(segment->options()).total_bytes);
    for (const uint32_t i : {0U, 1U, 7U}) {
      EXPECT_EQ(
          reinterpret_cast<uintptr_t>(segment->regions().slot_block(i).data()) %
              64,
          0U);
      EXPECT_EQ(
          reinterpret_cast<uintptr_t>(segment->regions().weights(i).data()) %
              64,
          0U);
    }
  }
}

// I9: whatever number a peer left in shared memory, it leads to a place that
// is one of the segment's.
TEST(SegmentTest, NoNumberLeadsOutOfTheSegment) {
  const std::unique_ptr<Segment> segment = MakeSegment(SmallOptions());
  const Segment::Regions& regions = segment->regions();
  const auto all = Everything(*segment);
  const auto is_place = [&all](const void* begin) {
    return std::any_of(all.begin(), all.end(), [begin](const auto& place) {
      return place.first == reinterpret_cast<uintptr_t>(begin);
    });
  };
  for (const uint64_t number :
       {uint64_t{5}, uint64_t{4096}, uint64_t{1} << 32, uint64_t{1} << 48,
        uint64_t{1} << 63, ~uint64_t{0}}) {
    EXPECT_TRUE(is_place(regions.slot_block(number).data()));
    EXPECT_TRUE(is_place(regions.overflow_block(number).data()));
    EXPECT_TRUE(is_place(regions.record_words(number)));
    EXPECT_TRUE(is_place(regions.weights(number).data()));
    EXPECT_TRUE(is_place(regions.optimizer_state(number).data()));
    EXPECT_TRUE(
        is_place(regions.gradient(static_cast<uint32_t>(number)).data()));
    regions.slot_word(number).load();
    regions.slot_place(number).load();
    regions.overflow_word(number).load();
    regions.done_word(static_cast<uint32_t>(number)).load();
  }
}

// The words of messages are as many as there are messages, and apart from all
// that lies around them.
TEST(SegmentTest, EachMessageHasAWordOfItsOwn) {
  SegmentOptions options = SmallOptions();
  options.parts = 2;
  options.num_messages = 3;
  const std::unique_ptr<Segment> segment = MakeSegment(options);
  const Segment::Regions& regions = segment->regions();
  uint64_t value = 0;
  for (uint32_t place = 0; place < 3; ++place) {
    for (uint64_t message = 0; message < 3; ++message) {
      for (uint64_t part = 0; part < 2; ++part) {
        EXPECT_EQ(regions.message_word(place, message, part).load(), 0U);
        regions.message_word(place, message, part).store(++value);
      }
    }
  }
  EXPECT_EQ(value, 3U * 3 * 2);
  value = 0;
  for (uint32_t place = 0; place < 3; ++place) {
    for (uint64_t message = 0; message < 3; ++message) {
      for (uint64_t part = 0; part < 2; ++part) {
        EXPECT_EQ(regions.message_word(place, message, part).load(), ++value);
      }
    }
  }
  for (uint32_t place = 0; place < 6; ++place) {
    EXPECT_EQ(regions.done_word(place).load(), 0U);
  }
  for (uint64_t record = 0; record < 20; ++record) {
    EXPECT_EQ(*regions.record_words(record), 0U);
  }
  // I9: no number leads out of them.
  for (const uint64_t number :
       {uint64_t{18}, uint64_t{1} << 32, ~uint64_t{0}}) {
    const uint64_t found =
        regions.message_word(static_cast<uint32_t>(number), number, number)
            .load();
    EXPECT_TRUE(found >= 1 && found <= 18) << found;
  }
}

// The same through the queue: a peer has filled the words with nonsense.
TEST(SegmentTest, NonsenseInTheWordsCrashesNobody) {
  for (uint64_t seed = 0; seed < 200; ++seed) {
    const std::unique_ptr<Segment> segment = MakeSegment(SmallOptions());
    const PhiloxKey key =
        MakePhiloxKey(seed, 0, 0, 0, Purpose::kGenerateDataset);
    auto* words = reinterpret_cast<uint64_t*>(&segment->regions().control());
    const auto* end =
        reinterpret_cast<const uint64_t*>(segment->regions().weights(0).data());
    for (uint32_t i = 0; words + i < end; ++i) {
      const PhiloxBlock block = Philox4x32({i, 0, 0, 0}, key);
      // Small numbers pass for seqs and versions, large ones for nothing.
      words[i] = (uint64_t{block.words[0]} << 32 | block.words[1]) >>
                 (block.words[2] % 64);
    }
    SharedWord(segment->regions().control().stopped).store(0);
    GlobalQueue sampler(segment.get(), OwnerIndex{1}, 0);
    GlobalQueue trainer(segment.get(), OwnerIndex{2});
    GradientBoard board(segment.get(), OwnerIndex{2});
    (void)sampler.Counts();
    if (auto slot = sampler.TryClaimForWriting(); slot.ok() && *slot) {
      (void)(*slot)->SwitchToOverflow(NoWait());
      std::memset((*slot)->block().data(), 1, (*slot)->block().size());
      (void)std::move(**slot).Publish();
    }
    if (auto slot = trainer.TryClaimForReading(BatchSeq(0), BatchSeq(100));
        slot.ok() && *slot) {
      (void)ReadTask((*slot)->block(), kTestJob);
      (void)board.MarkDone({(*slot)->seq()}, {});
      (void)std::move(**slot).Release();
    }
    (void)board.record({BatchSeq(3)});
    if (auto lease = board.TryLease()) {
      (void)lease->batch_examples();
      for (const auto gradient : lease->gradients()) {
        EXPECT_EQ(gradient.size(), SmallOptions().num_parameters);
      }
      (void)std::move(*lease).Publish();
    }
    sampler.ReclaimSlotsOf(OwnerIndex{1});
    board.ReclaimLeaseOf(OwnerIndex{2});
  }
}

}  // namespace
}  // namespace fgnn
