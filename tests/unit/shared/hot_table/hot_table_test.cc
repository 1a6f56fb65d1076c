// A table is filled once by whoever is there, read as far as it is filled, and
// opened only if it is what it says.
#include "shared/hot_table/hot_table.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <cstring>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "shared/base/crc32c.h"
#include "shared/base/threads/thread.h"
#include "tests/fakes/status_matchers.h"
#include "tests/unit/shared/hot_table/hot_table_for_tests.h"

namespace fgnn {
namespace {

constexpr OwnerIndex kOne{1};
constexpr OwnerIndex kTwo{2};

class HotTableTest : public testing::Test {
 protected:
  void SetUp() override {
    FGNN_ASSERT_OK_AND_ASSIGN(fd_, HotTable::Create(SmallTable()));
    one_ = Open();
    two_ = Open();
  }
  std::unique_ptr<HotTable> Open(HotTablePart part = HotTablePart::kAll) {
    return HotTable::Open(Duplicate(fd_.get()), kTableJob, part).value();
  }

  UniqueFd fd_;
  std::unique_ptr<HotTable> one_, two_;
};

TEST_F(HotTableTest, EachChunkIsFilledOnceAndAllSeeIt) {
  EXPECT_EQ(one_->shape(), SmallTable());
  EXPECT_EQ(one_->filled_rows(), 0U);
  std::optional<HotTable::Chunk> first = one_->TryTake(kOne);
  std::optional<HotTable::Chunk> second = two_->TryTake(kTwo);
  ASSERT_TRUE(first.has_value() && second.has_value());
  EXPECT_EQ(first->first_row(), 0U);
  EXPECT_EQ(second->first_row(), 5U);
  FillBytes(*two_, *second);
  std::move(*second).Done();
  // The chunk before it is not there yet.
  EXPECT_EQ(one_->filled_rows(), 0U);
  FillBytes(*one_, *first);
  std::move(*first).Done();
  EXPECT_EQ(one_->filled_rows(), 10U);
  EXPECT_EQ(two_->filled_rows(), 10U);
  EXPECT_EQ(FillFree(*one_, kOne), 7U);
  EXPECT_EQ(FillFree(*two_, kTwo), 0U);
  EXPECT_TRUE(two_->is_full());
  EXPECT_EQ(two_->filled_rows(), 43U);  // The last chunk is short.
  EXPECT_TRUE(IsSound(*two_));
}

TEST_F(HotTableTest, ThreadsOfSeveralProcessesFillItTogether) {
  std::atomic<uint64_t> filled = 0;
  std::atomic<bool> sound = true;
  {
    std::vector<Thread> threads;
    for (HotTable* const table : {one_.get(), two_.get()}) {
      const OwnerIndex owner = table == one_.get() ? kOne : kTwo;
      for (int i = 0; i < 2; ++i) {
        threads.emplace_back("fill", [&filled, table, owner] {
          filled += FillFree(*table, owner);
        });
      }
      threads.emplace_back("read", [&sound, table] {
        while (!table->is_full()) sound = sound && IsSound(*table);
        sound = sound && IsSound(*table);
      });
    }
  }
  EXPECT_EQ(filled, SmallTable().num_chunks());
  EXPECT_TRUE(sound);
}

TEST_F(HotTableTest, WhatADeadTrainerHadIsFilledByAnother) {
  // Dies with two chunks, one of them half written.
  std::optional<HotTable::Chunk> whole = one_->TryTake(kOne);
  auto* const lost = new HotTable::Chunk(*one_->TryTake(kOne));
  lost->bytes()[3] = std::byte{255};
  FillBytes(*one_, *whole);
  std::move(*whole).Done();
  EXPECT_EQ(FillFree(*two_, kTwo), 7U);
  EXPECT_EQ(two_->filled_rows(), 5U);
  EXPECT_FALSE(two_->is_full());

  const uint32_t reclaims = two_->num_reclaims();
  const uint32_t changes = two_->changes();
  const auto scheduler = Open(HotTablePart::kWords);
  scheduler->ReclaimChunksOf(kTwo);  // It has none.
  EXPECT_EQ(FillFree(*two_, kTwo), 0U);
  scheduler->ReclaimChunksOf(kOne);
  EXPECT_GT(two_->num_reclaims(), reclaims);
  EXPECT_NE(two_->changes(), changes);
  EXPECT_EQ(FillFree(*two_, kTwo), 1U);
  EXPECT_TRUE(two_->is_full());
  EXPECT_TRUE(IsSound(*two_));
  ::operator delete(lost);  // A dead process runs no destructor.
}

TEST_F(HotTableTest, AChunkThatIsNotFinishedIsGivenBack) {
  const uint32_t reclaims = two_->num_reclaims();
  { const std::optional<HotTable::Chunk> chunk = one_->TryTake(kOne); }
  EXPECT_GT(two_->num_reclaims(), reclaims);
  EXPECT_EQ(two_->filled_rows(), 0U);
  EXPECT_EQ(FillFree(*two_, kTwo), SmallTable().num_chunks());
  EXPECT_TRUE(IsSound(*two_));
}

TEST_F(HotTableTest, PagesAreTakenAsTheyAreTouched) {
  HotTableShape large = SmallTable();
  large.rows = 1U << 30;
  large.row_bytes = 4096;  // 4 TiB
  EXPECT_THAT(HotTable::Create(large), IsOk());
}

TEST_F(HotTableTest, RefusesAShapeThatIsOutOfRange) {
  for (uint64_t HotTableShape::*const field :
       {&HotTableShape::rows, &HotTableShape::row_bytes,
        &HotTableShape::rows_per_chunk}) {
    for (const uint64_t value : {uint64_t{0}, uint64_t{1} << 32}) {
      HotTableShape shape = SmallTable();
      shape.*field = value;
      EXPECT_THAT(HotTable::Create(shape), InvalidArgument("must be in"));
    }
  }
}

// What a stranger may hand to Open().
class Forgery {
 public:
  explicit Forgery(int fd) : bytes_(::lseek(fd, 0, SEEK_END)) {
    EXPECT_EQ(::pread(fd, bytes_.data(), bytes_.size(), 0),
              static_cast<ssize_t>(bytes_.size()));
  }
  Forgery& Set(size_t offset, uint64_t value, bool sign = true) {
    std::memcpy(&bytes_[offset], &value, sizeof(value));
    if (!sign) return *this;
    const uint32_t none = 0;
    std::memcpy(&bytes_[12], &none, sizeof(none));
    const uint32_t crc = ExtendCrc32c(0, bytes_.data(), 64);
    std::memcpy(&bytes_[12], &crc, sizeof(crc));
    return *this;
  }
  Forgery& Resize(size_t bytes) {
    bytes_.resize(bytes);
    return *this;
  }
  absl::Status Open(unsigned seals = F_SEAL_SHRINK | F_SEAL_GROW) {
    UniqueFd fd(::memfd_create("forgery", MFD_ALLOW_SEALING));
    EXPECT_EQ(::write(fd.get(), bytes_.data(), bytes_.size()),
              static_cast<ssize_t>(bytes_.size()));
    EXPECT_EQ(::fcntl(fd.get(), F_ADD_SEALS, seals), 0);
    return HotTable::Open(std::move(fd), kTableJob, HotTablePart::kAll)
        .status();
  }

 private:
  std::vector<char> bytes_;
};

TEST_F(HotTableTest, RefusesWhatIsNoTableOfTheJob) {
  const auto forged = [&] { return Forgery(fd_.get()); };
  FGNN_ASSERT_OK(forged().Set(24, 3).Open());  // As it was.
  EXPECT_THAT(forged().Open(F_SEAL_GROW), InvalidArgument("sealed"));
  EXPECT_THAT(forged().Open(F_SEAL_SHRINK), InvalidArgument("sealed"));
  EXPECT_THAT(forged().Set(0, 1).Open(),
              InvalidArgument("none of this program's"));
  EXPECT_THAT(forged().Set(8, 9).Open(),
              InvalidArgument("none of this program's"));
  EXPECT_THAT(forged().Set(16, 9).Open(), InvalidArgument("another job"));
  EXPECT_THAT(forged().Set(40, 44, /*sign=*/false).Open(),
              InvalidArgument("checksum"));
  EXPECT_THAT(forged().Set(40, 44).Open(), InvalidArgument("its header needs"));
  EXPECT_THAT(forged().Set(48, uint64_t{1} << 40).Open(),
              InvalidArgument("row_bytes is"));
  EXPECT_THAT(forged().Set(56, 0).Open(),
              InvalidArgument("rows_per_chunk is 0"));
  EXPECT_THAT(forged().Resize(4096).Open(),
              InvalidArgument("its header needs"));
  EXPECT_THAT(forged().Resize(40).Open(), InvalidArgument("too small"));
  UniqueFd file(::open("/dev/zero", O_RDWR));
  EXPECT_THAT(HotTable::Open(std::move(file), kTableJob, HotTablePart::kAll),
              InvalidArgument("sealed"));
}

TEST_F(HotTableTest, NoWordOfAStrangerLeadsOutOfTheTable) {
  for (const uint64_t word : {uint64_t{2} | 1U << 3, uint64_t{3}, UINT64_MAX}) {
    ASSERT_EQ(::pwrite(fd_.get(), &word, sizeof(word), 256 + 8),
              static_cast<ssize_t>(sizeof(word)));
    const auto table = Open();
    FillFree(*table, kOne);
    EXPECT_EQ(table->filled_rows(), 5U);  // Its chunk is never there.
  }
}

}  // namespace
}  // namespace fgnn
