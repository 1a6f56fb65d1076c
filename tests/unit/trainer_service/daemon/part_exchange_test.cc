// The rules by which a trainer waits for the other parts of its batch.
#include "trainer_service/daemon/part_exchange.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <thread>
#include <vector>

#include "shared/base/clock.h"
#include "shared/queue/segment.h"
#include "tests/fakes/status_matchers.h"
#include "trainer_service/compute/thread_team.h"

namespace fgnn {
namespace {

constexpr OwnerIndex kSampler{1};
constexpr OwnerIndex kTrainer{2};
constexpr OwnerIndex kOther{3};
constexpr BatchPart kMine = {BatchSeq(0), 0};
constexpr BatchPart kMissing = {BatchSeq(0), 1};

// Two parts, each of which sends the other one row of one float.
class PartExchangeTest : public testing::Test {
 protected:
  void SetUp() override {
    model_.layers = 2;
    model_.hidden = 1;
    SegmentOptions options;
    options.job_key = 1;
    options.num_slots = 4;
    options.slot_bytes = 4096;
    options.batches_per_epoch = 2;
    options.epochs = 1;
    options.parts = 2;
    options.num_messages = NumMessages(model_.layers, false);
    options.message_bytes = 2 * MessageBytes(2, 2, sizeof(float));
    options.num_parameters = 1;
    FGNN_ASSERT_OK_AND_ASSIGN(segment_, Segment::Create(options));
    sampler_ = std::make_unique<GlobalQueue>(segment_.get(), kSampler);
    trainer_ = std::make_unique<GlobalQueue>(segment_.get(), kTrainer);
    other_ = std::make_unique<GlobalQueue>(segment_.get(), kOther);
    GlobalQueue(segment_.get(), kNoOwner).OpenForSampling(BatchSeq(2));
    for (uint32_t part = 0; part < 2; ++part) {
      tasks_[part].part = part;
      tasks_[part].num_parts = 2;
      tasks_[part].split.levels[0] = {counts_, send_, {}};
    }
  }

  // Publishes both parts of the lowest batch.
  void Sample() {
    FGNN_ASSERT_OK_AND_ASSIGN(std::vector<WriteSlot> slots,
                              sampler_->TryClaimBatchForWriting());
    ASSERT_EQ(slots.size(), 2U);
    for (WriteSlot& slot : slots) FGNN_ASSERT_OK(std::move(slot).Publish());
  }
  static ReadSlot Claim(GlobalQueue& queue, const BatchPart& part) {
    return *queue.TryClaimPart(part).value();
  }

  // Sends the part's row and takes that of the other part, forwards.
  absl::Status Exchange(PartExchange& exchange, uint32_t part, float row,
                        float* other_row) {
    float rows[] = {row, -1};
    RowShuffle* const shuffle = exchange.Begin(&tasks_[part]);
    const absl::Status status = shuffle->Forward(
        0, {.rows = rows, .columns = 1, .own = 1, .remote = 1}, team_);
    *other_row = rows[1];
    return status;
  }
  PartExchange MakeExchange(OwnerIndex owner,
                            std::function<bool()> is_wanted = nullptr) {
    return PartExchange(
        segment_.get(), owner, model_,
        {.waits = [this] { ++looks_; }, .is_wanted = std::move(is_wanted)});
  }

  ModelOptions model_;
  std::unique_ptr<Segment> segment_;
  std::unique_ptr<GlobalQueue> sampler_;
  std::unique_ptr<GlobalQueue> trainer_;
  std::unique_ptr<GlobalQueue> other_;
  const std::vector<uint32_t> counts_ = {0, 1, 1, 0};
  const std::vector<uint32_t> send_ = {0};
  TaskView tasks_[2];
  ThreadTeam team_{1};
  std::atomic<int> looks_ = 0;
  float row_ = 0;
};

TEST_F(PartExchangeTest, ARowComesOnceTheOtherPartIsTrained) {
  Sample();
  const ReadSlot mine = Claim(*trainer_, kMine);
  const ReadSlot others = Claim(*other_, kMissing);
  PartExchange exchange = MakeExchange(kTrainer);
  absl::Status status;
  std::thread trainer([&] { status = Exchange(exchange, 0, 3, &row_); });
  // Looks while the part is in a trainer's hands end nothing.
  const Deadline deadline = DeadlineIn(std::chrono::minutes(1));
  while (looks_ < 2 && MonotonicClock::now() < deadline) {
    std::this_thread::yield();
  }
  PartExchange other = MakeExchange(kOther);
  float row = 0;
  EXPECT_THAT(Exchange(other, 1, 4, &row), IsOk());
  trainer.join();
  EXPECT_THAT(status, IsOk());
  EXPECT_EQ(row, 3);
  EXPECT_EQ(row_, 4);
  EXPECT_EQ(exchange.end(), PartEnd::kDone);
  EXPECT_GT(exchange.waited(), 0);
  EXPECT_GE(exchange.progress(), 2U);
  EXPECT_EQ(other.end(), PartEnd::kDone);
  EXPECT_EQ(other.waited(), 0);
}

// Rules c and d: first the trainer holds nothing else, then it takes the part.
TEST_F(PartExchangeTest, APartThatNobodyHasIsTaken) {
  Sample();
  const ReadSlot mine = Claim(*trainer_, kMine);
  PartExchange exchange = MakeExchange(kTrainer);
  EXPECT_FALSE(Exchange(exchange, 0, 3, &row_).ok());
  EXPECT_EQ(exchange.end(), PartEnd::kTakeOther);
  EXPECT_EQ(exchange.missing(), kMissing);
  EXPECT_EQ(looks_, 1);
  // Rule f: what it has published stays for the one who takes it.
  PartExchange other = MakeExchange(kTrainer);
  EXPECT_THAT(Exchange(other, 1, 4, &row_), IsOk());
  EXPECT_EQ(row_, 3);
}

// Rule e: the device may have to sample that part.
TEST_F(PartExchangeTest, APartThatIsToBeSampledAgainEndsTheTurn) {
  Sample();
  const ReadSlot mine = Claim(*trainer_, kMine);
  ASSERT_THAT(Claim(*other_, kMissing).Reject(), IsOk());
  PartExchange exchange = MakeExchange(kTrainer);
  EXPECT_FALSE(Exchange(exchange, 0, 3, &row_).ok());
  EXPECT_EQ(exchange.end(), PartEnd::kEndTurn);
}

TEST_F(PartExchangeTest, ATrainerThatIsWantedElsewhereLeaves) {
  Sample();
  const ReadSlot mine = Claim(*trainer_, kMine);
  const ReadSlot others = Claim(*other_, kMissing);
  PartExchange exchange = MakeExchange(kTrainer, [] { return true; });
  EXPECT_FALSE(Exchange(exchange, 0, 3, &row_).ok());
  EXPECT_EQ(exchange.end(), PartEnd::kLeave);
}

TEST_F(PartExchangeTest, AJobThatIsStoppedEndsTheWait) {
  Sample();
  const ReadSlot mine = Claim(*trainer_, kMine);
  GlobalQueue(segment_.get(), kNoOwner).Stop();
  PartExchange exchange = MakeExchange(kTrainer);
  EXPECT_THAT(Exchange(exchange, 0, 3, &row_),
              StatusIs(absl::StatusCode::kCancelled));
  EXPECT_EQ(exchange.end(), PartEnd::kDone);
}

TEST_F(PartExchangeTest, AModelWithoutHiddenLayersExchangesNothing) {
  model_.layers = 1;
  SegmentOptions options = segment_->options();
  options.num_messages = options.message_bytes = 0;
  FGNN_ASSERT_OK_AND_ASSIGN(segment_, Segment::Create(options));
  PartExchange exchange = MakeExchange(kTrainer);
  EXPECT_EQ(exchange.Begin(&tasks_[0]), nullptr);
  EXPECT_EQ(exchange.end(), PartEnd::kDone);
}

}  // namespace
}  // namespace fgnn
