// Tables in device memory, and how a device gets what is not in them.
#include "trainer_service/features/cuda/device_cache.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <numeric>
#include <vector>

#include "shared/base/status.h"
#include "tests/fakes/cuda/fake_cudart.h"
#include "tests/fakes/status_matchers.h"
#include "tests/unit/trainer_service/test_gpu.h"
#include "trainer_service/features/cuda/miss_rows.h"

namespace fgnn {
namespace {

// Every number of a row says of which vertex it is. `broken`: reading fails.
class NumberedStore final : public FeatureStore {
 public:
  NumberedStore(uint64_t rows, uint64_t columns) : columns_(columns) {
    for (uint64_t v = 0; v < rows; ++v) {
      rows_.insert(rows_.end(), columns, static_cast<float>(v));
    }
  }
  uint64_t num_rows() const override { return rows_.size() / columns_; }
  uint64_t num_columns() const override { return columns_; }
  FeatureType type() const override { return FeatureType::kFloat32; }
  const std::byte* data() const override {
    return in_memory ? reinterpret_cast<const std::byte*>(rows_.data())
                     : nullptr;
  }
  absl::Status CopyRows(absl::Span<const GlobalId> /*nodes*/,
                        float* /*out*/) const override {
    return absl::UnimplementedError("no test calls it");
  }
  absl::Status CopyStoredRows(absl::Span<const GlobalId> nodes,
                              std::byte* out) const override {
    if (broken) return absl::DataLossError("the disk is broken");
    for (size_t i = 0; i < nodes.size(); ++i) {
      std::memcpy(out + i * row_bytes(), &rows_[nodes[i] * columns_],
                  row_bytes());
    }
    return absl::OkStatus();
  }

  bool broken = false;
  bool in_memory = true;

 private:
  const uint64_t columns_;
  std::vector<float> rows_;
};

std::vector<GlobalId> Hottest(uint64_t count, uint64_t num_rows) {
  std::vector<GlobalId> vertices(num_rows);
  std::iota(vertices.rbegin(), vertices.rend(), 0U);
  vertices.resize(count);
  return vertices;
}

class DeviceCacheTest : public testing::Test {
 protected:
  DeviceCacheTest() { SetDevice(size_t{1} << 30); }

  static void SetDevice(size_t memory_bytes, uint64_t seed = 1) {
    simt::SetFakeDevice({.memory_bytes = memory_bytes, .seed = seed});
  }
  absl::StatusOr<DeviceCache> Load(const FeatureStore& store, uint64_t count) {
    return DeviceCache::Load(store, Hottest(count, store.num_rows()), stream_,
                             team_);
  }

  ThreadTeam team_{2};
  const CudaStream stream_ = CudaStream::Make().value();
};

// A table of 20 MB goes through buffers of 8 MiB: the first is used again.
TEST_F(DeviceCacheTest, HasTheRowsOfTheHottestVertices) {
  const NumberedStore store(5000, 1024);
  for (const uint64_t count : {0, 1, 31, 2048, 4096, 5000}) {
    SCOPED_TRACE(count);
    for (uint64_t seed = 1; seed <= (count == 5000 ? 5U : 1U); ++seed) {
      SetDevice(size_t{1} << 30, seed);
      FGNN_ASSERT_OK_AND_ASSIGN(const DeviceCache cache, Load(store, count));
      EXPECT_EQ(cache.capacity(), count);
      EXPECT_EQ(cache.bytes(), count * store.row_bytes());
      EXPECT_EQ(simt::GetFakeCounts().allocated_bytes, cache.bytes());
      TestGpu gpu(seed);
      const std::vector<float> rows =
          gpu.Get(reinterpret_cast<const float*>(cache.rows()), count * 1024);
      for (uint64_t r = 0; r < count; ++r) {
        ASSERT_EQ(rows[r * 1024], static_cast<float>(4999 - r));
        ASSERT_EQ(rows[r * 1024 + 1023], static_cast<float>(4999 - r));
      }
    }
  }
}

TEST_F(DeviceCacheTest, LeavesNothingBehindWhereThereIsNoMemory) {
  const NumberedStore store(200, 6);
  SetDevice(100 * 24 - 1);
  EXPECT_THAT(Load(store, 100),
              ResourceExhausted("a cache of 100 rows, 2.34 KiB",
                                "cudaErrorMemoryAllocation"));
  EXPECT_EQ(simt::GetFakeCounts().allocated_bytes, 0U);
  EXPECT_THAT(Load(store, 99), IsOk());
}

TEST_F(DeviceCacheTest, ReturnsErrorsOfTheStoreAndOfTheDevice) {
  NumberedStore store(200, 6);
  store.broken = true;
  EXPECT_THAT(Load(store, 100), DataLoss("the disk is broken"));
  store.broken = false;
  EXPECT_THAT(
      DeviceCache::Load(store, std::vector<GlobalId>{3, 200}, stream_, team_),
      InvalidArgument("global id 200"));
  // Any call may fail.
  for (uint64_t call = 0; call < 40; ++call) {
    SetDevice(size_t{1} << 30);
    simt::FailAfter(call, cudaErrorIllegalAddress, true);
    const absl::StatusOr<DeviceCache> cache = Load(store, 100);
    if (!cache.ok()) {
      EXPECT_THAT(cache, Internal());
    } else {
      EXPECT_GT(call, 5U);
    }
  }
  SetDevice(size_t{1} << 30);
  EXPECT_EQ(simt::GetFakeCounts().allocated_bytes, 0U);
}

TEST_F(DeviceCacheTest, CountsTasksWhileItWaits) {
  const NumberedStore store(200, 6);
  const uint64_t before = team_.tasks_begun();
  FGNN_ASSERT_OK(Load(store, 100).status());
  // One task reads, and the last wait counts one.
  EXPECT_GE(team_.tasks_begun(), before + 2);
}

TEST_F(DeviceCacheTest, RegistersRowsThatLieInMemoryAsLongAsItLives) {
  NumberedStore store(200, 6);
  {
    const MissRows rows = MissRows::Register(&store);
    EXPECT_EQ(rows.on_device(), store.data());
    // They are registered already.
    EXPECT_EQ(MissRows::Register(&store).on_device(), nullptr);
  }
  EXPECT_EQ(MissRows::Register(&store).on_device(), store.data());
  EXPECT_EQ(MissRows::Stage(&store).on_device(), nullptr);
  store.in_memory = false;
  EXPECT_EQ(MissRows::Register(&store).on_device(), nullptr);
}

TEST_F(DeviceCacheTest, OrdersManyMissesOfALargeStore) {
  constexpr uint64_t kGib = uint64_t{1} << 30;
  EXPECT_EQ(LeastOrderedMisses(kGib), UINT64_MAX);
  EXPECT_EQ(LeastOrderedMisses(8 * kGib), 32768U);
  EXPECT_EQ(LeastOrderedMisses(64 * kGib), 262144U);
}

}  // namespace
}  // namespace fgnn
