// Inference that several make together. Here each is a thread with a world and
// a mapping of its own, as a process has them.
#include "trainer_service/infer/shared_inference.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <set>
#include <thread>
#include <vector>

#include "tests/fakes/status_matchers.h"
#include "tests/unit/trainer_service/infer/small_graph.h"
#include "trainer_service/infer/evaluate.h"

namespace fgnn {
namespace {

UniqueFd NewMemory(int seals = F_SEAL_SHRINK) {
  UniqueFd fd(::memfd_create("test", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  EXPECT_EQ(::fcntl(fd.get(), F_ADD_SEALS, seals), 0);
  return fd;
}

std::unique_ptr<SharedInference> Join(const UniqueFd& memory) {
  return SharedInference::Open(Duplicate(memory.get())).value();
}

uint64_t SizeOf(const UniqueFd& memory) {
  struct stat status = {};
  EXPECT_EQ(::fstat(memory.get(), &status), 0);
  return static_cast<uint64_t>(status.st_size);
}

TEST(SharedInferenceTest, RefusesMemoryThatCouldBeTakenAway) {
  EXPECT_THAT(SharedInference::Open(NewMemory(F_SEAL_SEAL)),
              InvalidArgument("shrinking"));
}

TEST(SharedInferenceTest, WhatOneWritesAllOthersRead) {
  const UniqueFd memory = NewMemory();
  const auto one = Join(memory);
  const auto two = Join(memory);
  ASSERT_EQ(one->Growth(5000), 8192U);
  FGNN_ASSERT_OK_AND_ASSIGN(const auto first, one->Reserve(5000));
  FGNN_ASSERT_OK_AND_ASSIGN(const auto second, one->Reserve(100'000));
  first[4999] = std::byte{1};
  second[99'999] = std::byte{2};
  const uint64_t size = SizeOf(memory);
  // It comes later and reserves less so far: nothing shrinks.
  EXPECT_EQ(two->Growth(5000), 0U);
  FGNN_ASSERT_OK_AND_ASSIGN(const auto same, two->Reserve(5000));
  EXPECT_EQ(SizeOf(memory), size);
  EXPECT_EQ(same.size(), 5000U);
  EXPECT_EQ(same[4999], std::byte{1});
  EXPECT_EQ(same[0], std::byte{0});
  FGNN_ASSERT_OK_AND_ASSIGN(const auto behind, two->Reserve(100'000));
  EXPECT_EQ(behind[99'999], std::byte{2});
  EXPECT_EQ(SizeOf(memory), size);
}

TEST(SharedInferenceTest, EachChunkOfALoopIsTakenOnce) {
  constexpr int64_t kChunks = 300;
  const UniqueFd memory = NewMemory();
  std::vector<std::set<int64_t>> taken(3);
  std::vector<std::thread> threads;
  for (std::set<int64_t>& mine : taken) {
    threads.emplace_back([&] {
      const auto shared = Join(memory);
      // One takes several at a time.
      const int64_t most = &mine == &taken[0] ? 7 : 1;
      while (const auto chunks = shared->TakeChunks(1, kChunks, most)) {
        for (int64_t c = chunks->first; c < chunks->last; ++c) mine.insert(c);
        shared->ChunksDone(1, kChunks, chunks->last - chunks->first);
      }
      EXPECT_THAT(
          shared->WaitForLoop(1, kChunks, [] { return absl::OkStatus(); }),
          IsOk());
    });
  }
  for (std::thread& thread : threads) thread.join();
  std::set<int64_t> all;
  size_t count = 0;
  for (const std::set<int64_t>& mine : taken) {
    all.insert(mine.begin(), mine.end());
    count += mine.size();
  }
  EXPECT_EQ(count, all.size());
  EXPECT_EQ(all.size(), static_cast<size_t>(kChunks));
  EXPECT_EQ(*all.rbegin(), kChunks - 1);
  // The others are loops of their own.
  const auto other = Join(memory)->TakeChunks(0, kChunks, 1);
  ASSERT_TRUE(other.has_value());
  EXPECT_EQ(other->first, 0);
  EXPECT_EQ(other->last, 1);
}

TEST(SharedInferenceTest, AnUnfinishedLoopIsWaitedForUntilTheCheckSaysSo) {
  const UniqueFd memory = NewMemory();
  const auto dead = Join(memory);
  const auto other = Join(memory);
  ASSERT_TRUE(dead->TakeChunks(0, 2, 1).has_value());
  ASSERT_TRUE(other->TakeChunks(0, 2, 1).has_value());
  other->ChunksDone(0, 2, 1);
  int asked = 0;
  EXPECT_THAT(other->WaitForLoop(0, 2,
                                 [&asked] {
                                   return ++asked < 3
                                              ? absl::OkStatus()
                                              : absl::CancelledError("gone");
                                 }),
              Cancelled("gone"));
  EXPECT_EQ(asked, 3);
}

class SharedEvaluationTest : public testing::Test {
 protected:
  SharedEvaluationTest() {
    for (size_t v = 0; v < kNodes; ++v) labels_.push_back(v % 2);
    for (int64_t v = int64_t{kNodes} - 1; v > 40; --v) split_.push_back(v);
  }

  // Ends what it takes part in after so many questions.
  static std::function<absl::Status()> GiveUpAfter(int questions) {
    const auto asked = std::make_shared<std::atomic<int>>(0);
    return [asked, questions] {
      return ++*asked > questions ? absl::CancelledError("given up")
                                  : absl::OkStatus();
    };
  }

  absl::StatusOr<std::vector<SplitScore>> EvaluateIn(
      const UniqueFd* memory, const std::function<absl::Status()>& check = {}) {
    SmallGraph world(3, /*classes=*/2, RandomFeatures());
    InferenceInput input = world.Input();
    std::unique_ptr<SharedInference> shared;
    if (memory != nullptr) shared = Join(*memory);
    input.shared = shared.get();
    input.check = check;
    return Evaluate(input, labels_, {split_, {1, 2, 3}});
  }

  static void ExpectSameBits(const std::vector<SplitScore>& scores,
                             const std::vector<SplitScore>& expected) {
    ASSERT_EQ(scores.size(), expected.size());
    for (size_t s = 0; s < scores.size(); ++s) {
      EXPECT_EQ(scores[s], expected[s]);
    }
  }

  std::vector<int64_t> labels_;
  std::vector<int64_t> split_;
};

TEST_F(SharedEvaluationTest, HasTheBitsOfOneAloneForAnyNumber) {
  FGNN_ASSERT_OK_AND_ASSIGN(const auto expected, EvaluateIn(nullptr));
  for (const size_t number : {1, 2, 3}) {
    SCOPED_TRACE(number);
    const UniqueFd memory = NewMemory();
    std::vector<absl::StatusOr<std::vector<SplitScore>>> scores(number);
    std::vector<std::thread> threads;
    for (auto& mine : scores) {
      threads.emplace_back([&] { mine = EvaluateIn(&memory); });
    }
    for (std::thread& thread : threads) thread.join();
    for (const auto& mine : scores) {
      FGNN_ASSERT_OK(mine.status());
      ExpectSameBits(*mine, expected);
    }
  }
}

TEST_F(SharedEvaluationTest, ThoseWhoAreLeftMakeItAnewInOtherMemory) {
  FGNN_ASSERT_OK_AND_ASSIGN(const auto expected, EvaluateIn(nullptr));
  // Wherever the first one gives up, nobody is left waiting, and nothing that
  // it did shows.
  for (const int questions : {1, 4, 9, 14}) {
    SCOPED_TRACE(questions);
    const UniqueFd broken = NewMemory();
    std::atomic<bool> over = false;
    absl::Status other;
    std::thread waiting([&] {
      other = EvaluateIn(&broken, [&over] {
                return over ? absl::CancelledError("one is gone")
                            : absl::OkStatus();
              }).status();
    });
    const absl::Status first =
        EvaluateIn(&broken, GiveUpAfter(questions)).status();
    over = true;
    waiting.join();
    EXPECT_THAT(first, testing::AnyOf(IsOk(), Cancelled()));
    const UniqueFd fresh = NewMemory();
    FGNN_ASSERT_OK_AND_ASSIGN(const auto again, EvaluateIn(&fresh));
    ExpectSameBits(again, expected);
  }
}

TEST_F(SharedEvaluationTest, ItsArraysAreThereOnceAndAsLargeAsWasSaid) {
  SmallGraph world(3, /*classes=*/2, RandomFeatures());
  const uint64_t arrays = InferenceArrayBytes(world.Input());
  EXPECT_EQ(arrays, kNodes * (2 * kHidden * sizeof(float) + 3));
  const UniqueFd memory = NewMemory();
  FGNN_ASSERT_OK(EvaluateIn(&memory).status());
  const uint64_t alone = SizeOf(memory);
  // With what scores take, 12 bytes a vertex, and less than a page of each.
  EXPECT_GE(alone, arrays);
  EXPECT_LE(alone, arrays + (split_.size() + 3) * 12 + 9 * 4096);
  FGNN_ASSERT_OK(EvaluateIn(&memory).status());
  EXPECT_EQ(SizeOf(memory), alone);
}

}  // namespace
}  // namespace fgnn
