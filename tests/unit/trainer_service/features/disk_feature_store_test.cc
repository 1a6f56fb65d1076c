#include "trainer_service/features/cpu/disk_feature_store.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "shared/base/philox.h"
#include "tests/fakes/status_matchers.h"
#include "tests/fakes/temp_folder.h"
#include "tests/reference/random_graph.h"
#include "trainer_service/features/cpu/feature_cache.h"
#include "trainer_service/features/cpu/mapped_feature_store.h"

namespace fgnn {
namespace {

// A file of random bits behind a header, in memory too.
class FeaturesOnDisk {
 public:
  FeaturesOnDisk(FeatureType type, uint64_t rows, uint64_t columns,
                 uint64_t offset = 128) {
    file_ = {folder_.path() / "features.npy", offset, type, rows, columns};
    bytes_.resize(offset + rows * file_.row_bytes());
    for (size_t i = 0; i < bytes_.size(); ++i) {
      bytes_[i] = std::byte(Mix64(i) & 0xff);
    }
    std::ofstream(file_.path)
        .write(reinterpret_cast<const char*>(bytes_.data()),
               static_cast<std::streamsize>(bytes_.size()));
    mapped_ =
        MakeMappedFeatureStore({bytes_.data() + offset, type, rows, columns});
  }

  const FeatureFile& file() const { return file_; }

  std::vector<GlobalId> DrawNodes(size_t count, uint64_t seed) const {
    reference::TestDraws draws(seed);
    std::vector<GlobalId> nodes(count);
    for (GlobalId& node : nodes) {
      node = static_cast<GlobalId>(draws.Below(file_.rows));
    }
    return nodes;
  }
  // That out has the rows of `nodes`, and a number that was there behind them.
  void ExpectRows(const std::vector<GlobalId>& nodes,
                  const std::vector<float>& out) const {
    std::vector<float> expected(nodes.size() * file_.columns + 1, -1);
    FGNN_ASSERT_OK(mapped_->CopyRows(nodes, expected.data()));
    ASSERT_EQ(out.size(), expected.size());
    for (size_t i = 0; i < nodes.size(); ++i) {
      ASSERT_EQ(
          0, std::memcmp(&out[i * file_.columns], &expected[i * file_.columns],
                         file_.columns * sizeof(float)))
          << "row " << i << " of node " << nodes[i];
    }
    EXPECT_EQ(out.back(), -1);
  }
  void ExpectCopied(const FeatureStore& store,
                    const std::vector<GlobalId>& nodes) const {
    std::vector<float> out = Room(nodes.size());
    FGNN_ASSERT_OK(store.CopyRows(nodes, out.data()));
    ExpectRows(nodes, out);
  }
  std::vector<float> Room(size_t count) const {
    return std::vector<float>(count * file_.columns + 1, -1);
  }

 private:
  TempFolder folder_;
  FeatureFile file_;
  std::vector<std::byte> bytes_;
  std::unique_ptr<FeatureStore> mapped_;
};

// A disk in this process that ends a read when somebody waits for one, that of
// the highest slot first, and answers as it is told.
struct FakeDisk {
  // Of the n-th read, from 0, of so many bytes: bytes to read, or an errno
  // below zero.
  std::function<int32_t(uint64_t n, int32_t bytes)> answer =
      [](uint64_t, int32_t bytes) { return bytes; };
  bool is_gone = false;  // Waiting fails.
  uint64_t num_reads = 0;
  uint64_t num_queues = 0;
  size_t under_way = 0;
};

class FakeReadQueue : public ReadQueue {
 public:
  FakeReadQueue(FakeDisk* disk, int fd) : disk_(disk), fd_(fd) {}

  void Begin(uint32_t slot, uint64_t offset,
             absl::Span<std::byte> to) override {
    EXPECT_EQ(offset % 4096, 0U);
    EXPECT_EQ(to.size() % 4096, 0U);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(to.data()) % 4096, 0U);
    EXPECT_TRUE(reads_.emplace(slot, std::pair(offset, to)).second);
    ++disk_->under_way;
  }

  absl::StatusOr<absl::Span<const EndedRead>> Take(bool wait) override {
    ended_.clear();
    if (!wait) return ended_;
    EXPECT_GT(reads_.size(), 0U) << "waits for nothing";
    if (disk_->is_gone) return absl::UnavailableError("gone");
    const auto last = std::prev(reads_.end());
    const auto [offset, to] = last->second;
    int32_t result =
        disk_->answer(disk_->num_reads++, static_cast<int32_t>(to.size()));
    if (result > 0) {
      result = static_cast<int32_t>(::pread(fd_, to.data(),
                                            static_cast<size_t>(result),
                                            static_cast<off_t>(offset)));
    }
    ended_.push_back({last->first, result});
    reads_.erase(last);
    --disk_->under_way;
    return ended_;
  }

 private:
  FakeDisk* const disk_;
  const int fd_;
  std::map<uint32_t, std::pair<uint64_t, absl::Span<std::byte>>> reads_;
  std::vector<EndedRead> ended_;
};

auto Open(const FeaturesOnDisk& features, FakeDisk& disk) {
  const auto make_queue =
      [&disk](int fd, uint32_t) -> absl::StatusOr<std::unique_ptr<ReadQueue>> {
    ++disk.num_queues;
    return std::make_unique<FakeReadQueue>(&disk, fd);
  };
  return OpenDiskFeatureStore(features.file(), {/*depth=*/8, make_queue});
}

#define OPEN_OR_SKIP(store, ...)                         \
  auto store##_or = OpenDiskFeatureStore(__VA_ARGS__);   \
  if (absl::IsFailedPrecondition(store##_or.status())) { \
    GTEST_SKIP() << store##_or.status();                 \
  }                                                      \
  FGNN_ASSERT_OK(store##_or.status());                   \
  const std::unique_ptr<DiskFeatureStore> store = *std::move(store##_or)

struct Case {
  FeatureType type;
  uint64_t rows;
  uint64_t columns;
  uint64_t offset = 128;
  uint32_t depth = 128;
};

class DiskFeatureStoreTest : public testing::TestWithParam<Case> {
 protected:
  const FeaturesOnDisk features_{GetParam().type, GetParam().rows,
                                 GetParam().columns, GetParam().offset};
  ThreadTeam team_{3};
};

TEST_P(DiskFeatureStoreTest, HasTheRowsOfTheFile) {
  OPEN_OR_SKIP(store, features_.file(), {.depth = GetParam().depth});
  EXPECT_EQ(store->data(), nullptr);
  for (const size_t count : {0, 1, 2, 700, 20000}) {
    if (count * GetParam().columns > 20'000'000) continue;
    SCOPED_TRACE(count);
    const std::vector<GlobalId> nodes = features_.DrawNodes(count, count);
    std::vector<float> out = features_.Room(count);
    FGNN_ASSERT_OK(store->Extract(nodes, out.data(), team_));
    features_.ExpectRows(nodes, out);
    features_.ExpectCopied(*store, nodes);
  }
  // The last row, and those beside it, end with the file.
  const auto last = static_cast<GlobalId>(GetParam().rows - 1);
  features_.ExpectCopied(*store, {last, 0, last});
}

TEST_P(DiskFeatureStoreTest, IsReadBehindACache) {
  OPEN_OR_SKIP(store, features_.file(), {.depth = GetParam().depth});
  const uint64_t num_rows = GetParam().rows;
  std::vector<GlobalId> hottest(num_rows);
  std::vector<uint32_t> rank_of(num_rows);
  const uint64_t step = num_rows % 7 == 0 ? 1 : 7;  // Has no common divisor.
  for (uint32_t r = 0; r < num_rows; ++r) {
    hottest[r] = static_cast<GlobalId>(r * step % num_rows);
    rank_of[hottest[r]] = r;
  }
  for (const uint64_t capacity : {uint64_t{1}, num_rows / 3, num_rows}) {
    SCOPED_TRACE(capacity);
    FGNN_ASSERT_OK_AND_ASSIGN(
        const FeatureCache cache,
        FeatureCache::Load(
            store.get(), absl::MakeSpan(hottest).subspan(0, capacity), team_));
    const std::vector<GlobalId> nodes = features_.DrawNodes(3000, capacity);
    std::vector<uint32_t> ranks;
    uint64_t cached = 0;
    for (const GlobalId node : nodes) {
      ranks.push_back(rank_of[node]);
      cached += rank_of[node] < capacity ? 1 : 0;
    }
    std::vector<float> out = features_.Room(nodes.size());
    FGNN_ASSERT_OK_AND_ASSIGN(const uint64_t hits,
                              cache.Extract(nodes, ranks, out.data(), team_));
    EXPECT_EQ(hits, cached);
    features_.ExpectRows(nodes, out);
  }
}

INSTANTIATE_TEST_SUITE_P(
    AllShapes, DiskFeatureStoreTest,
    testing::Values(
        Case{FeatureType::kFloat32, 3000, 1},
        Case{FeatureType::kFloat32, 3000, 37},
        Case{FeatureType::kFloat32, 2000, 1023},
        Case{FeatureType::kFloat32, 2000, 1024},
        Case{FeatureType::kFloat32, 300, 1025, /*offset=*/80},
        // Rows longer than what is merged, and than half a queue's buffers.
        Case{FeatureType::kFloat32, 40, 10007},
        Case{FeatureType::kFloat16, 30000, 3},
        Case{FeatureType::kFloat16, 3000, 602, /*offset=*/4096},
        Case{FeatureType::kBfloat16, 5000, 1, /*offset=*/70},
        Case{FeatureType::kBfloat16, 3000, 101, /*offset=*/128, /*depth=*/1},
        Case{FeatureType::kBfloat16, 3000, 2049, /*offset=*/128, /*depth=*/3}),
    [](const auto& test) {
      return absl::StrCat(std::string(NameOf(test.param.type)), "_",
                          test.param.columns, "_of_depth_", test.param.depth);
    });

TEST(DiskFeatureStoreReadsTest, ReadsAPageOnceAndAdjoiningOnesTogether) {
  // 64 rows of 64 bytes a page, from the third page on.
  const FeaturesOnDisk features(FeatureType::kFloat32, 6400, 16,
                                /*offset=*/8192);
  FakeDisk disk;
  FGNN_ASSERT_OK_AND_ASSIGN(const auto store, Open(features, disk));
  const auto reads_of = [&](const std::vector<GlobalId>& nodes) {
    const uint64_t before = store->num_reads();
    features.ExpectCopied(*store, nodes);
    return store->num_reads() - before;
  };
  EXPECT_EQ(reads_of({}), 0U);
  EXPECT_EQ(reads_of({5, 5, 5}), 1U);
  EXPECT_EQ(reads_of({63, 0, 17}), 1U);
  EXPECT_EQ(reads_of({0, 64}), 1U);       // Pages side by side.
  EXPECT_EQ(reads_of({0, 64, 200}), 2U);  // A page between.
  std::vector<GlobalId> all(6400);
  for (GlobalId v = 0; v < all.size(); ++v) all[v] = v;
  EXPECT_EQ(reads_of(all), 13U);  // Hundred pages, eight at a time.
}

TEST(DiskFeatureStoreReadsTest, CopiesOtherRowsWhileReadsAreUnderWay) {
  const FeaturesOnDisk features(FeatureType::kFloat32, 1000, 100);
  FakeDisk disk;
  FGNN_ASSERT_OK_AND_ASSIGN(const auto store, Open(features, disk));
  const std::vector<GlobalId> nodes = features.DrawNodes(1000, 1);
  std::vector<uint32_t> ranks(1000);
  for (uint32_t i = 0; i < 1000; ++i) ranks[i] = i % 2;  // Every other is one.
  std::vector<float> out = features.Room(1000);
  std::vector<int> others(1000);
  ThreadTeam team(1);
  FGNN_ASSERT_OK(store->ExtractMisses({nodes, ranks, 1}, out.data(), team,
                                      [&](size_t first, size_t last) {
                                        EXPECT_GT(disk.under_way, 0U);
                                        EXPECT_EQ(disk.num_reads, 0U);
                                        for (size_t i = first; i < last; ++i)
                                          ++others[i];
                                      }));
  EXPECT_THAT(others, testing::Each(1));
  EXPECT_GT(disk.num_reads, 8U);
  EXPECT_EQ(out[0], -1);  // Left alone.
}

TEST(DiskFeatureStoreFaultTest, GoesOnBehindShortReadsAndInterruptions) {
  const FeaturesOnDisk features(FeatureType::kFloat32, 3000, 700);
  FakeDisk disk;
  disk.answer = [](uint64_t n, int32_t bytes) -> int32_t {
    switch (n % 5) {
      case 0:
        return -EINTR;
      case 1:
        return 512;  // No whole page.
      case 2:
        return -EAGAIN;
      case 3:
        return bytes > 4096 ? bytes - 4096 : bytes;
      default:
        return bytes;
    }
  };
  FGNN_ASSERT_OK_AND_ASSIGN(const auto store, Open(features, disk));
  features.ExpectCopied(*store, features.DrawNodes(1000, 1));
}

TEST(DiskFeatureStoreFaultTest, NamesFileAndOffsetOfAReadThatFailed) {
  const FeaturesOnDisk features(FeatureType::kFloat32, 3000, 1024,
                                /*offset=*/4096);
  const std::vector<GlobalId> nodes = {10, 20, 30, 40};
  std::vector<float> out = features.Room(nodes.size());
  for (const int error : {EIO, EAGAIN}) {
    FakeDisk disk;
    FGNN_ASSERT_OK_AND_ASSIGN(const auto store, Open(features, disk));
    // Row 10 is read well; row 20 is next, and two more are under way.
    disk.answer = [&](uint64_t n, int32_t bytes) {
      return n == 0 ? bytes : -error;
    };
    EXPECT_THAT(store->CopyRows(nodes, out.data()),
                Unavailable("features.npy: cannot read 4096 B at offset 86016",
                            std::strerror(error)));
    EXPECT_EQ(disk.under_way, 0U);

    // The disk is well again, and the queue still good.
    disk.answer = [](uint64_t, int32_t bytes) { return bytes; };
    features.ExpectCopied(*store, nodes);
    EXPECT_EQ(disk.num_queues, 1U);
  }
}

TEST(DiskFeatureStoreFaultTest, MakesAnotherQueueWhenOneIsLost) {
  const FeaturesOnDisk features(FeatureType::kFloat32, 3000, 100);
  FakeDisk disk;
  FGNN_ASSERT_OK_AND_ASSIGN(const auto store, Open(features, disk));
  const std::vector<GlobalId> nodes = features.DrawNodes(50, 1);
  std::vector<float> out = features.Room(nodes.size());
  disk.is_gone = true;
  EXPECT_THAT(store->CopyRows(nodes, out.data()),
              Unavailable("features.npy: gone"));
  disk.is_gone = false;
  features.ExpectCopied(*store, nodes);
  EXPECT_EQ(disk.num_queues, 2U);
}

TEST(DiskFeatureStoreFaultTest, SaysWhereAFileEndsThatWasCutOff) {
  const FeaturesOnDisk features(FeatureType::kFloat32, 3000, 1024,
                                /*offset=*/4096);
  ThreadTeam team(2);
  OPEN_OR_SKIP(store, features.file());
  // Behind row 999, and half of row 1000.
  std::filesystem::resize_file(features.file().path, 4096 + 1000 * 4096 + 2048);
  const std::vector<GlobalId> gone = {3, 1000, 7};
  std::vector<float> out = features.Room(gone.size());
  EXPECT_THAT(store->Extract(gone, out.data(), team),
              DataLoss("features.npy", absl::StrCat("offset ", 1001 * 4096)));
  const std::vector<GlobalId> there = {3, 999, 7};
  EXPECT_THAT(store->Extract(there, out.data(), team), IsOk());
  features.ExpectRows(there, out);
}

TEST(DiskFeatureStoreFaultTest, RefusesFilesThatItCannotRead) {
  const FeaturesOnDisk features(FeatureType::kFloat32, 10, 10);
  FeatureFile file = features.file();
  file.rows = 11;
  EXPECT_THAT(OpenDiskFeatureStore(file), DataLoss("has 528 B", "end at 568"));
  file = features.file();
  file.columns = 0;
  EXPECT_THAT(OpenDiskFeatureStore(file), InvalidArgument());
  file = features.file();
  EXPECT_THAT(OpenDiskFeatureStore(file, {.depth = 0}), InvalidArgument());
  file.path = "/proc/self/status";  // No direct I/O.
  EXPECT_THAT(OpenDiskFeatureStore(file),
              FailedPrecondition("/proc/self/status", "O_DIRECT"));
  file.path = "/nowhere/features.npy";
  EXPECT_THAT(OpenDiskFeatureStore(file), NotFound());
}

TEST(DiskFeatureStoreFaultTest, SaysWhatToDoWhereIoUringIsRefused) {
  const FeaturesOnDisk features(FeatureType::kFloat32, 10, 10);
  for (const int error : {EPERM, ENOSYS}) {
    const auto refuse = [error](int, uint32_t) {
      return absl::StatusOr<std::unique_ptr<ReadQueue>>(RefusedRing(error));
    };
    EXPECT_THAT(OpenDiskFeatureStore(features.file(), {.make_queue = refuse}),
                FailedPrecondition("features.npy: io_uring is refused",
                                   "kernel.io_uring_disabled"));
  }
  EXPECT_THAT(RefusedRing(ENOMEM), ResourceExhausted());
}

}  // namespace
}  // namespace fgnn
