#include "sampler_service/daemon/attached_job.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <numeric>
#include <thread>
#include <utility>

#include "sampler_service/job/online_counts.h"
#include "sampler_service/order/matched_order.h"
#include "shared/base/status.h"
#include "shared/graph/rank_order.h"
#include "shared/minibatch/task.h"
#include "tests/fakes/status_matchers.h"
#include "tests/fakes/temp_folder.h"
#include "tests/unit/sampler_service/daemon/small_job.h"

namespace fgnn {
namespace {

using testing::HasSubstr;

constexpr std::chrono::seconds kPatience{30};
constexpr OwnerIndex kReader{9};

// Failures as they are reported.
class Failures {
 public:
  std::function<void(const absl::Status&)> Recorder() {
    return [this](const absl::Status& failure) {
      const std::lock_guard lock(mutex_);
      failures_.push_back(failure);
      reported_.notify_all();
    };
  }
  // The first one; OK if there was none after `patience`.
  absl::Status WaitForFirst(std::chrono::seconds patience) {
    std::unique_lock lock(mutex_);
    return reported_.wait_until(lock, DeadlineIn(patience),
                                [this] { return !failures_.empty(); })
               ? failures_.front()
               : absl::OkStatus();
  }

 private:
  std::mutex mutex_;
  std::condition_variable reported_;
  std::vector<absl::Status> failures_;  // Guarded by mutex_.
};

class AttachedJobTest : public testing::Test {
 protected:
  absl::StatusOr<std::unique_ptr<AttachedJob>> StartSampler(
      const Segment& segment, OwnerIndex owner, uint32_t num_threads) {
    AttachedJobOptions options;
    options.job_id = job_.job_id();
    options.owner = owner;
    options.overflow_block = PlainIndex(owner) - 1U;
    options.num_threads = num_threads;
    options.counted_batches = counted_batches_;
    options.on_failure = failures_.Recorder();
    FGNN_ASSIGN_OR_RETURN(JobSampling sampling,
                          OpenJobSampling(Spec(), {.job_key = job_.job_key()}));
    return AttachedJob::Start(std::move(options), std::move(sampling),
                              MapForSampler(segment));
  }
  JobSpec Spec() const {
    JobSpec spec = job_.spec();
    if (window_ == 0) return spec;
    spec.sampling.order = "matched";
    spec.sampling.window = window_;
    return spec;
  }
  // Returns the digests of all batches in matched order.
  std::vector<uint32_t> DigestsInOrder() const {
    const JobSampling sampling =
        OpenJobSampling(Spec(), {.job_key = job_.job_key()}).value();
    const std::unique_ptr<MatchedOrder> order =
        MatchedOrder::Create(sampling.input(), sampling.options,
                             *sampling.order)
            .value();
    const std::unique_ptr<Sampler> sampler =
        sampling.factory(sampling.input(), sampling.options).value();
    std::vector<uint32_t> digests;
    for (BatchSeq seq(0); seq < BatchSeq(job_.num_batches()); ++seq) {
      const absl::StatusOr<BatchSeq> drawn =
          order->DrawnOf(seq, *sampler, [] { return absl::OkStatus(); });
      EXPECT_THAT(drawn, IsOk());
      digests.push_back(job_.digests()[drawn->value()]);
    }
    EXPECT_NE(digests, job_.digests()) << "the order is the drawn one";
    return digests;
  }
  std::unique_ptr<Segment> MapForSampler(const Segment& segment) {
    std::unique_ptr<Segment> mapped = job_.Attach(segment);
    samplers_mapping_ = mapped.get();
    return mapped;
  }

  // Takes every batch out in order.
  std::vector<uint32_t> ReadAll(Segment& segment) {
    GlobalQueue queue(&segment, kReader);
    queue.OpenForSampling(BatchSeq(job_.num_batches()));
    std::vector<uint32_t> digests;
    for (BatchSeq seq(0); seq < BatchSeq(job_.num_batches()); ++seq) {
      auto slot = queue.ClaimForReading(seq, seq + 1, DeadlineIn(kPatience));
      EXPECT_THAT(slot, IsOk());
      if (!slot.ok() || !slot->has_value()) return digests;
      const auto task = ReadTask((*slot)->block(), job_.job_key());
      EXPECT_THAT(task, IsOk());
      EXPECT_EQ(task->seq, seq);
      digests.push_back(task->digest);
      EXPECT_THAT(std::move(**slot).Release(), IsOk());
    }
    return digests;
  }

  SmallJob job_;
  uint64_t counted_batches_ = 0;
  uint32_t window_ = 0;  // Window of matched order; 0: batches come as drawn.
  Failures failures_;
  Segment* samplers_mapping_ = nullptr;  // Of the sampler started last.
};

TEST_F(AttachedJobTest, MakesEveryBatchAsOneSamplerAloneDoes) {
  const auto segment = job_.MakeSegment(SmallJob::Slots::kRoomy, 4);
  FGNN_ASSERT_OK_AND_ASSIGN(const auto sampler,
                            StartSampler(*segment, OwnerIndex{1}, 3));
  EXPECT_EQ(ReadAll(*segment), job_.digests());
  EXPECT_EQ(sampler->batches(), job_.num_batches());
}

TEST_F(AttachedJobTest, TasksLargerThanASlotGoThroughTheOverflowBlock) {
  const auto segment = job_.MakeSegment(SmallJob::Slots::kTight, 4);
  FGNN_ASSERT_OK_AND_ASSIGN(const auto sampler,
                            StartSampler(*segment, OwnerIndex{1}, 2));
  // ThreadSanitizer knows addresses, not pages: it would not see that one
  // thread's overflow block is the next one's after it was freed here.
  EXPECT_EQ(ReadAll(*samplers_mapping_), job_.digests());
}

// ResourceExhausted would let the scheduler start the sampler again.
TEST_F(AttachedJobTest, ATaskLargerThanTheOverflowBlockIsALastingFailure) {
  const auto segment = job_.MakeSegment(SmallJob::Slots::kCramped, 16);
  GlobalQueue queue(segment.get(), kReader);
  queue.OpenForSampling(BatchSeq(job_.num_batches()));
  FGNN_ASSERT_OK_AND_ASSIGN(const auto sampler,
                            StartSampler(*segment, OwnerIndex{1}, 4));
  EXPECT_THAT(failures_.WaitForFirst(kPatience),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       HasSubstr("of its block")));
}

TEST_F(AttachedJobTest, TwoSamplersShareTheBatchesOfOne) {
  const auto segment = job_.MakeSegment(SmallJob::Slots::kTight, 3);
  FGNN_ASSERT_OK_AND_ASSIGN(const auto one,
                            StartSampler(*segment, OwnerIndex{1}, 1));
  // One thread each: they read through a mapping of their own, see above.
  FGNN_ASSERT_OK_AND_ASSIGN(const auto two,
                            StartSampler(*segment, OwnerIndex{2}, 1));
  EXPECT_EQ(ReadAll(*segment), job_.digests());
}

TEST_F(AttachedJobTest, MarksOnceThereIsAnOrder) {
  const auto segment = job_.MakeSegment(SmallJob::Slots::kRoomy, 4);
  GlobalQueue queue(segment.get(), kReader);
  FGNN_ASSERT_OK_AND_ASSIGN(const auto sampler,
                            StartSampler(*segment, OwnerIndex{1}, 2));
  const auto version_of = [&](BatchSeq seq) -> uint32_t {
    auto slot = queue.ClaimForReading(seq, seq + 1, DeadlineIn(kPatience));
    EXPECT_THAT(slot, IsOk());
    const auto task = ReadTask((*slot)->block(), job_.job_key());
    EXPECT_THAT(task, IsOk());
    EXPECT_EQ(task->digest, job_.digests()[seq.value()]);
    EXPECT_EQ(task->seconds.order, 0);  // As drawn.
    EXPECT_EQ(task->hot_rank.size(),
              task->rank_order_version == 0 ? 0 : task->input_nodes.size());
    EXPECT_THAT(std::move(**slot).Release(), IsOk());
    return task->rank_order_version;
  };
  queue.OpenForSampling(BatchSeq(4));
  for (BatchSeq seq(0); seq < BatchSeq(4); ++seq) {
    EXPECT_EQ(version_of(seq), 0U);
  }

  FGNN_ASSERT_OK_AND_ASSIGN(const Dataset dataset,
                            Dataset::Open(job_.dataset(), Validation::kShapes));
  std::vector<GlobalId> order(dataset.num_nodes());
  std::iota(order.rbegin(), order.rend(), 0);
  FGNN_ASSERT_OK(RankOrder::Save(dataset, 5, order));
  FGNN_ASSERT_OK_AND_ASSIGN(const RankOrder saved, RankOrder::Open(dataset, 5));
  segment->SetCachePlan({.rank_order_key = 5, .rows = 10});
  queue.OpenForSampling(BatchSeq(12));
  for (BatchSeq seq(4); seq < BatchSeq(12); ++seq) {
    EXPECT_EQ(version_of(seq), saved.version());
  }
}

TEST_F(AttachedJobTest, CountsWhatItWasToldTo) {
  const TempFolder folder;
  const auto segment = job_.MakeSegment(SmallJob::Slots::kRoomy, 4);
  {
    FGNN_ASSERT_OK_AND_ASSIGN(const auto sampler,
                              StartSampler(*segment, OwnerIndex{1}, 1));
    EXPECT_THAT(sampler->WriteCounts(folder / "counts"),
                StatusIs(absl::StatusCode::kFailedPrecondition));
  }
  counted_batches_ = job_.batches_per_epoch();
  FGNN_ASSERT_OK_AND_ASSIGN(const auto sampler,
                            StartSampler(*segment, OwnerIndex{1}, 2));
  EXPECT_EQ(ReadAll(*segment), job_.digests());
  FGNN_ASSERT_OK(sampler->WriteCounts(folder / "counts"));
  FGNN_ASSERT_OK_AND_ASSIGN(
      const JobSampling sampling,
      OpenJobSampling(job_.spec(), {.job_key = job_.job_key()}));
  const CountOptions counting = {
      .batches = {BatchSeq(0), BatchSeq(counted_batches_)},
      .num_threads = 1,
      .factory = sampling.factory,
      .check = nullptr};
  FGNN_ASSERT_OK_AND_ASSIGN(
      const std::vector<uint32_t> expected,
      CountInputNodes(sampling.input(), sampling.options, counting));
  CountOptions trusting = counting;
  trusting.check = [] { return absl::InternalError("sampled again"); };
  FGNN_ASSERT_OK_AND_ASSIGN(
      const std::vector<uint32_t> counts,
      SumOfCounts({{folder / "counts"}}, sampling, trusting));
  EXPECT_EQ(counts, expected);
}

// 32 batches an epoch, in windows of 5: the last one is shorter.
TEST_F(AttachedJobTest, MatchedOrderIsTheSameForAnyThreadsAndSamplers) {
  window_ = 5;
  const std::vector<uint32_t> expected = DigestsInOrder();
  for (const uint32_t num_threads : {1, 3}) {
    const auto segment = job_.MakeSegment(SmallJob::Slots::kRoomy, 7);
    FGNN_ASSERT_OK_AND_ASSIGN(
        const auto sampler, StartSampler(*segment, OwnerIndex{1}, num_threads));
    EXPECT_EQ(ReadAll(*segment), expected) << num_threads << " threads";
  }
  const auto segment = job_.MakeSegment(SmallJob::Slots::kTight, 3);
  FGNN_ASSERT_OK_AND_ASSIGN(const auto one,
                            StartSampler(*segment, OwnerIndex{1}, 1));
  FGNN_ASSERT_OK_AND_ASSIGN(const auto two,
                            StartSampler(*segment, OwnerIndex{2}, 1));
  EXPECT_EQ(ReadAll(*segment), expected) << "two samplers";
}

TEST_F(AttachedJobTest, AWindowOfOneBatchIsTheDrawnOrder) {
  window_ = 1;
  const auto segment = job_.MakeSegment(SmallJob::Slots::kRoomy, 4);
  FGNN_ASSERT_OK_AND_ASSIGN(const auto sampler,
                            StartSampler(*segment, OwnerIndex{1}, 2));
  EXPECT_EQ(ReadAll(*segment), job_.digests());
}

// A batch in the middle of a window may be the first that a sampler claims.
TEST_F(AttachedJobTest, ASamplerThatComesLaterFindsTheSameOrder) {
  window_ = 16;
  const std::vector<uint32_t> expected = DigestsInOrder();
  const auto segment = job_.MakeSegment(SmallJob::Slots::kRoomy, 2);
  GlobalQueue queue(segment.get(), kReader);
  queue.OpenForSampling(BatchSeq(job_.num_batches()));
  std::unique_ptr<AttachedJob> sampler;
  for (BatchSeq seq(0); seq < BatchSeq(job_.num_batches()); ++seq) {
    if (seq.value() % 7 == 0) {
      sampler.reset();
      FGNN_ASSERT_OK_AND_ASSIGN(sampler,
                                StartSampler(*segment, OwnerIndex{1}, 1));
    }
    auto slot = queue.ClaimForReading(seq, seq + 1, DeadlineIn(kPatience));
    ASSERT_THAT(slot, IsOk());
    ASSERT_TRUE(slot->has_value());
    FGNN_ASSERT_OK_AND_ASSIGN(const TaskView task,
                              ReadTask((*slot)->block(), job_.job_key()));
    EXPECT_EQ(task.seq, seq);
    EXPECT_EQ(task.digest, expected[seq.value()]) << seq.value();
    EXPECT_GT(task.seconds.order, 0);
    FGNN_ASSERT_OK(std::move(**slot).Release());
  }
}

TEST_F(AttachedJobTest, CountsBatchesAsTheyAreDrawn) {
  window_ = 5;
  const TempFolder folder;
  const auto segment = job_.MakeSegment(SmallJob::Slots::kRoomy, 4);
  counted_batches_ = job_.batches_per_epoch();
  FGNN_ASSERT_OK_AND_ASSIGN(const JobSampling sampling,
                            OpenJobSampling(Spec(), {}));
  // All but some batches in the middle, which are counted again.
  {
    FGNN_ASSERT_OK_AND_ASSIGN(const auto sampler,
                              StartSampler(*segment, OwnerIndex{1}, 2));
    GlobalQueue queue(segment.get(), kReader);
    queue.OpenForSampling(BatchSeq(3));
    for (BatchSeq seq(0); seq < BatchSeq(3); ++seq) {
      auto slot = queue.ClaimForReading(seq, seq + 1, DeadlineIn(kPatience));
      ASSERT_THAT(slot, IsOk());
      FGNN_ASSERT_OK(std::move(**slot).Release());
    }
    FGNN_ASSERT_OK(sampler->WriteCounts(folder / "counts"));
  }
  const CountOptions counting = {
      .batches = {BatchSeq(0), BatchSeq(counted_batches_)},
      .num_threads = 1,
      .factory = sampling.factory,
      .check = nullptr};
  FGNN_ASSERT_OK_AND_ASSIGN(
      const std::vector<uint32_t> expected,
      CountInputNodes(sampling.input(), sampling.options, counting));
  FGNN_ASSERT_OK_AND_ASSIGN(
      const std::vector<uint32_t> counts,
      SumOfCounts({{folder / "counts"}}, sampling, counting));
  EXPECT_EQ(counts, expected);
}

TEST_F(AttachedJobTest, GivesEverySlotBackWhenItLeaves) {
  const auto segment = job_.MakeSegment(SmallJob::Slots::kTight, 4);
  GlobalQueue queue(segment.get(), kReader);
  queue.OpenForSampling(BatchSeq(job_.num_batches()));
  FGNN_ASSERT_OK_AND_ASSIGN(auto sampler,
                            StartSampler(*segment, OwnerIndex{1}, 3));
  // One task is there; others are on their way, or wait for the overflow
  // block.
  FGNN_ASSERT_OK_AND_ASSIGN(
      auto slot,
      queue.ClaimForReading(BatchSeq(0), BatchSeq(1), DeadlineIn(kPatience)));
  ASSERT_TRUE(slot.has_value());
  sampler.reset();
  EXPECT_EQ(queue.Counts().writing, 0U);
  EXPECT_EQ(queue.Counts().reading, 1U);
}

TEST_F(AttachedJobTest, AStoppedJobIsNoFailure) {
  const auto segment = job_.MakeSegment(SmallJob::Slots::kRoomy, 4);
  FGNN_ASSERT_OK_AND_ASSIGN(auto sampler,
                            StartSampler(*segment, OwnerIndex{1}, 2));
  GlobalQueue(segment.get(), kReader).Stop();
  // The heart goes on beating until the job is left.
  const uint64_t before = sampler->progress();
  const Deadline deadline = DeadlineIn(kPatience);
  while (sampler->progress() < before + 2 && MonotonicClock::now() < deadline) {
    std::this_thread::yield();
  }
  EXPECT_GE(sampler->progress(), before + 2);
  sampler.reset();
  EXPECT_THAT(failures_.WaitForFirst(std::chrono::seconds(0)), IsOk());
}

TEST_F(AttachedJobTest, ReportsADatasetThatIsNotWhatWasValidated) {
  job_.DamageIndices();
  const auto segment = job_.MakeSegment(SmallJob::Slots::kRoomy, 4);
  GlobalQueue queue(segment.get(), kReader);
  queue.OpenForSampling(BatchSeq(job_.num_batches()));
  FGNN_ASSERT_OK_AND_ASSIGN(auto sampler,
                            StartSampler(*segment, OwnerIndex{1}, 2));
  EXPECT_THAT(failures_.WaitForFirst(kPatience),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       testing::AllOf(HasSubstr("batch "),
                                      HasSubstr("indices.npy: element"))));
  sampler.reset();
  EXPECT_EQ(queue.Counts().free, 4U);
}

TEST_F(AttachedJobTest, RefusesASegmentPlannedForAnotherTrainSet) {
  const auto segment = job_.MakeSegment(SmallJob::Slots::kRoomy, 4);
  FGNN_ASSERT_OK_AND_ASSIGN(
      JobSampling sampling,
      OpenJobSampling(job_.spec(), {.job_key = job_.job_key()}));
  sampling.options.batch_size = 17;
  AttachedJobOptions options;
  options.job_id = job_.job_id();
  options.owner = OwnerIndex{1};
  EXPECT_THAT(AttachedJob::Start(std::move(options), std::move(sampling),
                                 job_.Attach(*segment)),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("batches an epoch")));
}

}  // namespace
}  // namespace fgnn
