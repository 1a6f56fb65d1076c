// The id map's kernels in the emulator, against the CPU's id map.
#include "sampler_service/id_map/cuda/cuda_id_map.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>
#include <optional>
#include <vector>

#include "absl/strings/str_cat.h"
#include "sampler_service/id_map/cpu/direct_id_map.h"
#include "sampler_service/id_map/cuda/map_list.h"
#include "shared/base/philox.h"
#include "shared/device/cuda/device_array.h"
#include "shared/device/cuda/stream.h"
#include "tests/fakes/cuda/fake_cudart.h"
#include "tests/fakes/status_matchers.h"
#include "tests/simt/scheduler.h"

namespace fgnn {
namespace {

using testing::ElementsAreArray;

constexpr uint32_t kNumBlocks = 3;

// A batch that is mapped list by list.
struct Mapped {
  std::vector<std::vector<uint32_t>> local_ids;  // By list.
  std::vector<uint32_t> nodes;
  std::vector<DeviceList> lists;
  uint32_t table_full = 0;
};

template <typename T>
std::vector<T> ToHost(const T* from, uint64_t count, const CudaStream& stream) {
  auto pinned = PinnedArray<T>::Make(count);
  EXPECT_THAT(pinned, IsOk());
  cudaMemcpyAsync(pinned->get(), from, count * sizeof(T),
                  cudaMemcpyDeviceToHost, stream.get());
  cudaStreamSynchronize(stream.get());
  return {pinned->get(), pinned->get() + count};
}

template <typename T>
DeviceArray<T> ToDevice(const std::vector<T>& values,
                        const CudaStream& stream) {
  auto array = DeviceArray<T>::Make(values.size());
  EXPECT_THAT(array, IsOk());
  cudaMemcpyAsync(array->get(), values.data(), values.size() * sizeof(T),
                  cudaMemcpyHostToDevice, stream.get());
  cudaStreamSynchronize(stream.get());
  return *std::move(array);
}

// Maps the lists of a batch, each in an array of its own.
Mapped MapBatch(const DeviceIdMap& map,
                const std::vector<std::vector<uint32_t>>& ids,
                const CudaStream& stream) {
  std::vector<DeviceArray<uint32_t>> arrays;
  std::vector<DeviceList> lists(ids.size());
  for (size_t l = 0; l < ids.size(); ++l) {
    arrays.push_back(ToDevice(ids[l], stream));
    lists[l].end = static_cast<uint32_t>(ids[l].size());
  }
  TranslateArgs translate = {.map = map,
                             .num_lists = static_cast<uint32_t>(ids.size()),
                             .lists = {},
                             .ids = {},
                             .num_blocks = kNumBlocks};
  std::vector<DeviceArray<DeviceList>> device_lists;
  Mapped mapped;
  for (size_t l = 0; l < ids.size(); ++l) {
    if (l > 0) lists[l].num_known = mapped.lists.back().num_nodes;
    device_lists.push_back(ToDevice<DeviceList>({lists[l]}, stream));
    const auto new_bits =
        DeviceArray<uint32_t>::Make(ids[l].size() / 32 + 1).value();
    const auto sums = DeviceArray<uint64_t>::Make(kNumBlocks).value();
    const MapListArgs args = {.map = map,
                              .list = device_lists.back().get(),
                              .ids = arrays[l].get(),
                              .new_bits = new_bits.get(),
                              .block_sums = sums.get(),
                              .num_blocks = kNumBlocks};
    EXPECT_EQ(LaunchEnter(args, stream.get()), cudaSuccess);
    EXPECT_EQ(LaunchNumber(args, stream.get()), cudaSuccess);
    mapped.lists.push_back(ToHost(device_lists.back().get(), 1, stream)[0]);
    translate.lists[l] = device_lists.back().get();
    translate.ids[l] = arrays[l].get();
  }
  EXPECT_EQ(LaunchTranslate(translate, stream.get()), cudaSuccess);
  for (size_t l = 0; l < ids.size(); ++l) {
    mapped.local_ids.push_back(ToHost(arrays[l].get(), ids[l].size(), stream));
  }
  mapped.nodes = ToHost(map.nodes, mapped.lists.back().num_nodes, stream);
  mapped.table_full = ToHost(map.table_full, 1, stream)[0];
  return mapped;
}

void ExpectLikeCpu(const Mapped& mapped,
                   std::vector<std::vector<uint32_t>> ids) {
  auto cpu = DirectIdMap::Create(1 << 20, 1 << 20).value();
  cpu->StartBatch();
  for (size_t l = 0; l < ids.size(); ++l) {
    SCOPED_TRACE(absl::StrCat("list ", l));
    cpu->MapInPlace(absl::MakeSpan(ids[l]));
    EXPECT_THAT(mapped.local_ids[l], ElementsAreArray(ids[l]));
    EXPECT_EQ(mapped.lists[l].num_nodes, cpu->nodes().size());
    EXPECT_EQ(mapped.lists[l].wanted_nodes, cpu->nodes().size());
  }
  EXPECT_THAT(mapped.nodes, ElementsAreArray(cpu->nodes()));
  EXPECT_EQ(mapped.table_full, 0);
}

// Ids below `range`, with repeats.
std::vector<uint32_t> RandomIds(size_t size, uint32_t range, uint64_t seed) {
  const PhiloxKey key = MakePhiloxKey(seed, 0, 0, 0, Purpose::kSplit);
  std::vector<uint32_t> ids(size);
  for (size_t i = 0; i < size; ++i) {
    PhiloxHalves draws(key, static_cast<uint32_t>(i), 0);
    ids[i] = static_cast<uint32_t>(UniformBelow(draws.Get(0), range));
  }
  return ids;
}

// The parameter replays one interleaving of the threads; 4 also has two blocks
// at once, which is slow.
class CudaIdMapTest : public testing::TestWithParam<uint64_t> {
 protected:
  void SetUp() override {
    simt::SetOptions(
        {.seed = GetParam(), .blocks_at_once = GetParam() == 4 ? 2U : 1U});
    simt::FakeDevice device;
    device.seed = GetParam() + 1;
    simt::SetFakeDevice(device);
    stream_.emplace(CudaStream::Make().value());
    table_full_.emplace(ToDevice<uint32_t>({0}, *stream_));
  }
  DeviceIdMap Start(CudaIdMap& map, uint64_t max_places) {
    auto started = map.StartBatch(max_places, table_full_->get(), *stream_);
    EXPECT_THAT(started, IsOk());
    return *started;
  }

  std::optional<CudaStream> stream_;
  std::optional<DeviceArray<uint32_t>> table_full_;
};

TEST_P(CudaIdMapTest, NumbersVerticesInOrderOfFirstAppearance) {
  FGNN_ASSERT_OK_AND_ASSIGN(
      CudaIdMap map, CudaIdMap::Make({.max_nodes = 4096, .first_room = 4096}));
  // Around a warp, a block and what a block numbers at once.
  for (const size_t size : {0, 1, 31, 32, 33, 255, 257, 8191, 8193}) {
    SCOPED_TRACE(absl::StrCat("size=", size));
    if (size > 300 && GetParam() > 0) continue;  // 0 is the fastest.
    const std::vector<std::vector<uint32_t>> ids = {
        RandomIds(size, 3000, 1), {}, RandomIds(33, 4000, 2)};
    const Mapped mapped = MapBatch(Start(map, 8193), ids, *stream_);
    ExpectLikeCpu(mapped, ids);
    map.EndBatch(mapped.lists.back().num_nodes);
  }
}

TEST_P(CudaIdMapTest, EveryThreadMayShowTheSameVertex) {
  FGNN_ASSERT_OK_AND_ASSIGN(
      CudaIdMap map, CudaIdMap::Make({.max_nodes = 64, .first_room = 64}));
  const std::vector<std::vector<uint32_t>> ids = {std::vector<uint32_t>(600, 7),
                                                  RandomIds(600, 3, 4)};
  ExpectLikeCpu(MapBatch(Start(map, 600), ids, *stream_), ids);
}

// Vertices whose search begins at this entry of a table of 8.
std::vector<uint32_t> VerticesOfEntry(uint64_t entry, size_t count) {
  std::vector<uint32_t> vertices;
  for (uint32_t v = 1; vertices.size() < count; ++v) {
    if ((v * uint64_t{0x9e3779b97f4a7c15u}) >> 61 == entry) {
      vertices.push_back(v);
    }
  }
  return vertices;
}

class SmallTable {
 public:
  SmallTable(const CudaStream& stream, uint32_t* table_full)
      : table_(ToDevice(std::vector<uint64_t>(8), stream)),
        nodes_(ToDevice(std::vector<uint32_t>(16), stream)),
        table_full_(table_full) {}
  DeviceIdMap map() const {
    return {.table = table_.get(),
            .mask = 7,
            .shift = 61,
            .max_probes = 8,
            .base = 1,
            .first_place = 17,
            .max_nodes = 16,
            .nodes = nodes_.get(),
            .table_full = table_full_};
  }

 private:
  DeviceArray<uint64_t> table_;
  DeviceArray<uint32_t> nodes_;
  uint32_t* table_full_;
};

TEST_P(CudaIdMapTest, AFullTableIsSearchedBeyondItsEnd) {
  const SmallTable table(*stream_, table_full_->get());
  std::vector<uint32_t> ids = VerticesOfEntry(7, 8);
  ids.insert(ids.end(), ids.rbegin(), ids.rend());
  ExpectLikeCpu(MapBatch(table.map(), {ids, ids}, *stream_), {ids, ids});
}

TEST_P(CudaIdMapTest, AVertexWithoutAnEntryIsReported) {
  const SmallTable table(*stream_, table_full_->get());
  const Mapped mapped =
      MapBatch(table.map(), {VerticesOfEntry(3, 9)}, *stream_);
  EXPECT_EQ(mapped.table_full, 1);
}

TEST_P(CudaIdMapTest, BatchesFollowEachOtherWithoutAClear) {
  FGNN_ASSERT_OK_AND_ASSIGN(
      CudaIdMap map, CudaIdMap::Make({.max_nodes = 40, .first_room = 40}));
  uint32_t base = 0;
  for (uint64_t batch = 0; batch < 5; ++batch) {
    const std::vector<std::vector<uint32_t>> ids = {RandomIds(50, 40, batch)};
    const DeviceIdMap started = Start(map, 50);
    EXPECT_GT(started.base, base);
    base = started.base;
    const Mapped mapped = MapBatch(started, ids, *stream_);
    ExpectLikeCpu(mapped, ids);
    map.EndBatch(mapped.lists.back().num_nodes);
  }
}

TEST_P(CudaIdMapTest, ABatchThatNeverEndedLeavesNoVertices) {
  FGNN_ASSERT_OK_AND_ASSIGN(
      CudaIdMap map, CudaIdMap::Make({.max_nodes = 40, .first_room = 40}));
  for (uint64_t batch = 0; batch < 3; ++batch) {
    const std::vector<std::vector<uint32_t>> ids = {RandomIds(50, 40, batch)};
    ExpectLikeCpu(MapBatch(Start(map, 50), ids, *stream_), ids);
  }
}

TEST_P(CudaIdMapTest, TheTableIsClearedWhereTheBaseWraps) {
  FGNN_ASSERT_OK_AND_ASSIGN(
      CudaIdMap map,
      CudaIdMap::Make(
          {.max_nodes = 40, .first_room = 40, .first_base = UINT32_MAX - 230}));
  std::vector<uint32_t> bases;
  for (uint64_t batch = 0; batch < 6; ++batch) {
    const std::vector<std::vector<uint32_t>> ids = {RandomIds(60, 40, batch)};
    const DeviceIdMap started = Start(map, 60);
    bases.push_back(started.base);
    const Mapped mapped = MapBatch(started, ids, *stream_);
    ExpectLikeCpu(mapped, ids);
    map.EndBatch(mapped.lists.back().num_nodes);
  }
  EXPECT_EQ(bases[0], UINT32_MAX - 230);
  EXPECT_THAT(bases, testing::Contains(1));
}

TEST_P(CudaIdMapTest, ABatchThatDoesNotFitSaysHowManyVerticesItHas) {
  FGNN_ASSERT_OK_AND_ASSIGN(
      CudaIdMap map, CudaIdMap::Make({.max_nodes = 100, .first_room = 10}));
  std::vector<uint32_t> ids(15);
  std::iota(ids.begin(), ids.end(), 20);

  const Mapped small = MapBatch(Start(map, 15), {ids}, *stream_);
  EXPECT_EQ(small.lists[0].num_nodes, 0);
  EXPECT_EQ(small.lists[0].wanted_nodes, 15);

  ASSERT_THAT(map.Grow(15), IsOk());
  EXPECT_GE(map.room(), 15);
  ExpectLikeCpu(MapBatch(Start(map, 15), {ids}, *stream_), {ids});
  ASSERT_THAT(map.Grow(1000), IsOk());
  EXPECT_EQ(map.room(), 100);
}

TEST_P(CudaIdMapTest, RefusesABatchWhoseValuesDoNotFitInto32Bits) {
  FGNN_ASSERT_OK_AND_ASSIGN(
      CudaIdMap map, CudaIdMap::Make({.max_nodes = 10, .first_room = 10}));
  EXPECT_THAT(
      map.StartBatch(UINT32_MAX - 11, table_full_->get(), *stream_).status(),
      IsOk());
  EXPECT_THAT(map.StartBatch(UINT32_MAX - 10, table_full_->get(), *stream_),
              FailedPrecondition("sampling.batch_size"));
}

TEST_P(CudaIdMapTest, RefusesMoreVerticesThanEntriesHaveBitsFor) {
  FGNN_ASSERT_OK_AND_ASSIGN(
      CudaIdMap map,
      CudaIdMap::Make({.max_nodes = 2 * kMostMapNodes, .first_room = 10}));
  EXPECT_THAT(map.Grow(kMostMapNodes + 1),
              FailedPrecondition("sampling.batch_size"));
  EXPECT_EQ(map.room(), 10);
}

TEST_P(CudaIdMapTest, MarksVerticesWithTheirRanks) {
  const auto nodes = ToDevice<uint32_t>({4, 0, 2}, *stream_);
  const auto ranks = ToDevice<uint32_t>({10, 11, 12, 13, 14}, *stream_);
  const auto marks = ToDevice<uint32_t>({0, 0, 0, 99}, *stream_);
  DeviceList list = {};
  list.num_nodes = 3;
  const auto last = ToDevice<DeviceList>({list}, *stream_);
  ASSERT_EQ(LaunchMark({.last = last.get(),
                        .nodes = nodes.get(),
                        .ranks = ranks.get(),
                        .marks = marks.get(),
                        .num_blocks = kNumBlocks},
                       stream_->get()),
            cudaSuccess);
  EXPECT_THAT(ToHost(marks.get(), 4, *stream_),
              testing::ElementsAre(14, 10, 12, 99));
}

INSTANTIATE_TEST_SUITE_P(Interleavings, CudaIdMapTest,
                         testing::Range(uint64_t{0}, uint64_t{5}));

}  // namespace
}  // namespace fgnn
