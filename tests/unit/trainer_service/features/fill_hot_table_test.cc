// Trainers fill a table that they share: each row is read once, whoever dies.
#include "trainer_service/features/cpu/fill_hot_table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstring>
#include <functional>
#include <memory>
#include <optional>
#include <thread>
#include <vector>

#include "shared/base/clock.h"
#include "shared/base/status.h"
#include "shared/base/threads/notification.h"
#include "shared/base/threads/thread.h"
#include "tests/fakes/status_matchers.h"

namespace fgnn {
namespace {

constexpr uint64_t kRows = 500;
constexpr uint64_t kColumns = 3;
constexpr uint64_t kJob = 9;
constexpr OwnerIndex kOne{1};
constexpr OwnerIndex kTwo{2};
constexpr OwnerIndex kDead{3};

// Rows of floats (vertex, column, 7). Counts what is read.
class CountingStore : public FeatureStore {
 public:
  uint64_t num_rows() const override { return kRows; }
  uint64_t num_columns() const override { return kColumns; }
  FeatureType type() const override { return FeatureType::kFloat32; }
  absl::Status CopyRows(absl::Span<const GlobalId> nodes,
                        float* out) const override {
    return CopyStoredRows(nodes, reinterpret_cast<std::byte*>(out));
  }
  absl::Status CopyStoredRows(absl::Span<const GlobalId> nodes,
                              std::byte* out) const override {
    if (before_read_) FGNN_RETURN_IF_ERROR(before_read_(nodes[0]));
    for (size_t i = 0; i < nodes.size(); ++i) {
      const float row[kColumns] = {static_cast<float>(nodes[i]), 1, 7};
      std::memcpy(out + i * sizeof(row), row, sizeof(row));
    }
    rows_read_ += nodes.size();
    return absl::OkStatus();
  }
  const std::byte* data() const override { return nullptr; }

  uint64_t rows_read() const { return rows_read_; }
  std::function<absl::Status(GlobalId first)> before_read_;

 private:
  mutable std::atomic<uint64_t> rows_read_ = 0;
};

class FillHotTableTest : public testing::Test {
 protected:
  FillHotTableTest() : hottest_(kTableRows) {
    for (uint32_t r = 0; r < kTableRows; ++r) hottest_[r] = r * 7 % kRows;
    fd_ = HotTable::Create({.job_key = kJob,
                            .number = 1,
                            .rank_order_key = 5,
                            .rows = kTableRows,
                            .row_bytes = store_.row_bytes(),
                            .rows_per_chunk = 16})
              .value();
    one_ = Open();
    two_ = Open();
  }
  std::unique_ptr<HotTable> Open() {
    return HotTable::Open(Duplicate(fd_.get()), kJob, HotTablePart::kAll)
        .value();
  }
  absl::StatusOr<uint64_t> Fill(OwnerIndex owner, HotTable& table) {
    ThreadTeam team(2);
    return FillHotTable(store_, hottest_, owner, team, table);
  }
  void ExpectFull(const HotTable& table) {
    EXPECT_TRUE(table.is_full());
    for (uint64_t r = 0; r < table.filled_rows(); ++r) {
      float row[kColumns];
      std::memcpy(row, table.rows() + r * sizeof(row), sizeof(row));
      EXPECT_THAT(row, testing::ElementsAre(hottest_[r], 1, 7)) << r;
    }
  }

  static constexpr uint64_t kTableRows = 300;
  CountingStore store_;
  std::vector<GlobalId> hottest_;
  UniqueFd fd_;
  std::unique_ptr<HotTable> one_, two_;
};

TEST_F(FillHotTableTest, TwoTrainersReadEachRowOnce) {
  absl::StatusOr<uint64_t> by_one = 0;
  absl::StatusOr<uint64_t> by_two = 0;
  {
    const Thread one("one", [&] { by_one = Fill(kOne, *one_); });
    const Thread two("two", [&] { by_two = Fill(kTwo, *two_); });
  }
  FGNN_ASSERT_OK(by_one.status());
  FGNN_ASSERT_OK(by_two.status());
  EXPECT_EQ(*by_one + *by_two, kTableRows);
  EXPECT_EQ(store_.rows_read(), kTableRows);
  ExpectFull(*one_);
  ExpectFull(*two_);
  // One that comes later finds all.
  EXPECT_EQ(Fill(kTwo, *two_).value(), 0U);
}

TEST_F(FillHotTableTest, ATrainerWaitsForTheChunksOfAnother) {
  Notification reads;
  Notification go_on;
  // Two threads of a trainer take chunks: the read of the first chunk may come
  // second, so the chunk is told by its rows.
  store_.before_read_ = [&](GlobalId first) {
    if (first != hottest_[0]) return absl::OkStatus();
    reads.Notify();
    go_on.WaitUntil(DeadlineIn(std::chrono::minutes(1)));
    return absl::OkStatus();
  };
  const Thread one("one", [&] { EXPECT_THAT(Fill(kOne, *one_), IsOk()); });
  ASSERT_TRUE(reads.WaitUntil(DeadlineIn(std::chrono::minutes(1))));
  std::atomic<bool> has_ended = false;
  Thread two("two", [&] {
    EXPECT_THAT(Fill(kTwo, *two_), IsOk());
    has_ended = true;
    ExpectFull(*two_);
  });
  // Everything but the first chunk is there, and it goes on waiting.
  while (store_.rows_read() < kTableRows - 16) std::this_thread::yield();
  EXPECT_FALSE(has_ended);
  EXPECT_EQ(two_->filled_rows(), 0U);
  go_on.Notify();
  two.Join();
  EXPECT_EQ(store_.rows_read(), kTableRows);
}

TEST_F(FillHotTableTest, ATrainerFillsWhatADeadOneLeft) {
  const auto dead = Open();
  std::optional<HotTable::Chunk> first = dead->TryTake(kDead);
  std::optional<HotTable::Chunk> second = dead->TryTake(kDead);
  std::memset(first->bytes().data(), 255, 40);
  Thread one("one", [&] { EXPECT_THAT(Fill(kOne, *one_), IsOk()); });
  while (store_.rows_read() < kTableRows - 32) std::this_thread::yield();
  EXPECT_EQ(Open()->ReclaimChunksOf(kDead), 2U);
  one.Join();
  ExpectFull(*one_);
  EXPECT_EQ(store_.rows_read(), kTableRows);
  // A process that is dead gives nothing back.
  EXPECT_FALSE(first->bytes().empty());
}

TEST_F(FillHotTableTest, ARowThatCannotBeReadIsLeftToOthers) {
  store_.before_read_ = [this](GlobalId first) {
    return first == hottest_[32] ? absl::DataLossError("bad sector")
                                 : absl::OkStatus();
  };
  EXPECT_THAT(Fill(kOne, *one_),
              StatusIs(absl::StatusCode::kDataLoss, "bad sector"));
  EXPECT_LE(one_->filled_rows(), 32U);
  store_.before_read_ = nullptr;
  EXPECT_THAT(Fill(kTwo, *two_), IsOk());
  ExpectFull(*two_);
  EXPECT_EQ(store_.rows_read(), kTableRows);
}

TEST_F(FillHotTableTest, RefusesATableForOtherRows) {
  hottest_.pop_back();
  EXPECT_THAT(Fill(kOne, *one_),
              InvalidArgument("300 rows of 12 bytes does not fit "
                              "299 rows of 12"));
}

}  // namespace
}  // namespace fgnn
