#include "trainer_service/features/cuda/gather_rows.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "shared/graph/dataset.h"
#include "tests/unit/trainer_service/test_gpu.h"
#include "trainer_service/compute/widen.h"

namespace fgnn {
namespace {

using testing::ElementsAreArray;

constexpr uint32_t kStored = 200;  // Rows of the store.

struct Shape {
  uint32_t rows;
  uint32_t columns;
  FeatureType type = FeatureType::kFloat32;
  FeatureType to_type = FeatureType::kFloat32;
  uint64_t capacity = kStored / 2;
};

std::string NameOf(const Shape& shape) {
  return absl::StrCat(shape.rows, " rows, ", shape.columns, " columns, ",
                      std::string(NameOf(shape.type)), " to ",
                      std::string(NameOf(shape.to_type)), ", capacity ",
                      shape.capacity);
}

// A batch on the host, and what is to come of it.
struct Batch {
  std::vector<uint32_t> nodes;
  std::vector<uint32_t> ranks;
  std::vector<std::byte> store;  // [kStored] rows by global id.
  std::vector<std::byte> table;  // [capacity] rows by rank.
  std::vector<std::byte> out;
  uint32_t hits = 0;
};

// Any bits but those of NaN, whose payload a GPU does not keep.
std::vector<std::byte> RandomNumbers(FeatureType type, uint64_t count,
                                     std::mt19937_64* random) {
  std::vector<std::byte> bytes(count * BytesOf(type));
  for (std::byte& byte : bytes) byte = static_cast<std::byte>((*random)());
  std::vector<float> numbers(count);
  WidenToFloats(type, bytes.data(), count, numbers.data());
  for (uint64_t i = 0; i < count; ++i) {
    if (numbers[i] != numbers[i]) {
      std::memset(&bytes[i * BytesOf(type)], 0, BytesOf(type));
    }
  }
  return bytes;
}

Batch MakeBatch(const Shape& shape, uint64_t seed) {
  std::mt19937_64 random(seed);
  Batch batch;
  const uint64_t row_bytes = shape.columns * BytesOf(shape.type);
  batch.store = RandomNumbers(shape.type, kStored * shape.columns, &random);
  std::vector<uint32_t> by_rank(kStored);
  std::iota(by_rank.begin(), by_rank.end(), 0U);
  std::shuffle(by_rank.begin(), by_rank.end(), random);
  batch.table.resize(shape.capacity * row_bytes);
  for (uint64_t r = 0; r < shape.capacity; ++r) {
    std::memcpy(&batch.table[r * row_bytes],
                &batch.store[by_rank[r] * row_bytes], row_bytes);
  }
  for (uint32_t i = 0; i < shape.rows; ++i) {
    const auto rank = static_cast<uint32_t>(random() % kStored);
    batch.ranks.push_back(rank);
    batch.nodes.push_back(by_rank[rank]);
    batch.hits += rank < shape.capacity ? 1 : 0;
    std::vector<float> row(shape.columns);
    WidenToFloats(shape.type, &batch.store[by_rank[rank] * row_bytes],
                  shape.columns, row.data());
    const size_t at = batch.out.size();
    batch.out.resize(at + shape.columns * BytesOf(shape.to_type));
    if (shape.to_type == FeatureType::kFloat32) {
      std::memcpy(&batch.out[at], row.data(), row.size() * sizeof(float));
    } else {
      RoundToBfloat16s(row.data(), shape.columns,
                       reinterpret_cast<Bfloat16*>(&batch.out[at]));
    }
  }
  return batch;
}

void ExpectBatch(const Shape& shape, const Batch& batch, TestGpu* gpu,
                 GatherRowsArgs args) {
  args.rows = shape.rows;
  args.columns = shape.columns;
  args.type = shape.type;
  args.to_type = shape.to_type;
  args.capacity = shape.capacity;
  auto* const out = gpu->Room<std::byte>(batch.out.size());
  args.out = out;
  args.num_hits = gpu->Room<uint32_t>(1);
  ASSERT_EQ(LaunchGatherRows(args, gpu->stream()), cudaSuccess);
  EXPECT_TRUE(gpu->Get(out, batch.out.size()) == batch.out);
  EXPECT_THAT(gpu->Get(args.num_hits, 1), ElementsAreArray({batch.hits}));
}

void ExpectRegisteredRows(const Shape& shape, uint64_t interleaving) {
  SCOPED_TRACE(absl::StrCat(NameOf(shape), ", interleaving ", interleaving));
  const Batch batch = MakeBatch(shape, interleaving);
  TestGpu gpu(interleaving);
  ExpectBatch(shape, batch, &gpu,
              {.ranks = gpu.Put(batch.ranks),
               .miss_places = gpu.Put(batch.nodes),
               .table = gpu.Put(batch.table),
               .misses = gpu.Put(batch.store)});
}

TEST(GatherRowsTest, CopiesHitsAndMissesOfAnySize) {
  for (const uint32_t rows : {0, 1, 31, 32, 33}) {
    for (const uint32_t columns : {1, 3, 100, 256}) {
      ExpectRegisteredRows({rows, columns}, rows + columns);
    }
  }
}

TEST(GatherRowsTest, DoesNotDependOnTheOrderOfThreads) {
  for (uint64_t seed = 0; seed < kInterleavings; ++seed) {
    ExpectRegisteredRows({70, 3}, seed);
    ExpectRegisteredRows({70, 130}, seed);
  }
}

TEST(GatherRowsTest, ConvertsAsTheCpuDoes) {
  for (const FeatureType type :
       {FeatureType::kFloat32, FeatureType::kFloat16, FeatureType::kBfloat16}) {
    for (const FeatureType to :
         {FeatureType::kFloat32, FeatureType::kBfloat16}) {
      for (const uint32_t columns : {1, 2, 4, 100, 128, 602}) {
        ExpectRegisteredRows({33, columns, type, to}, columns);
      }
    }
  }
}

TEST(GatherRowsTest, ReadsNoTableThatIsEmptyAndNoMissThatIsAHit) {
  ExpectRegisteredRows(
      {64, 100, FeatureType::kFloat32, FeatureType::kFloat32, 0}, 1);
  const Shape shape = {64, 100, FeatureType::kFloat32, FeatureType::kFloat32,
                       kStored};
  const Batch batch = MakeBatch(shape, 1);
  TestGpu gpu;
  ExpectBatch(shape, batch, &gpu,
              {.ranks = gpu.Put(batch.ranks),
               .miss_places = gpu.Put(batch.nodes),
               .table = gpu.Put(batch.table)});
}

TEST(GatherRowsTest, TakesEveryRowForAMissWithoutRanks) {
  const Shape shape = {64, 3, FeatureType::kFloat32, FeatureType::kFloat32, 50};
  Batch batch = MakeBatch(shape, 1);
  batch.hits = 0;
  TestGpu gpu;
  ExpectBatch(shape, batch, &gpu,
              {.miss_places = gpu.Put(batch.nodes),
               .table = gpu.Put(batch.table),
               .misses = gpu.Put(batch.store)});
}

TEST(GatherRowsTest, TakesMissesFromAStagedBuffer) {
  const Shape shape = {133, 100};
  const Batch batch = MakeBatch(shape, 5);
  const uint64_t row_bytes = shape.columns * sizeof(float);
  std::vector<std::byte> staged;
  std::vector<uint32_t> places(shape.rows, UINT32_MAX);
  for (uint32_t i = 0; i < shape.rows; ++i) {
    if (batch.ranks[i] < shape.capacity) continue;
    places[i] = static_cast<uint32_t>(staged.size() / row_bytes);
    const auto row = batch.store.begin() +
                     static_cast<std::ptrdiff_t>(batch.nodes[i] * row_bytes);
    staged.insert(staged.end(), row,
                  row + static_cast<std::ptrdiff_t>(row_bytes));
  }
  TestGpu gpu;
  ExpectBatch(shape, batch, &gpu,
              {.ranks = gpu.Put(batch.ranks),
               .miss_places = gpu.Put(places),
               .table = gpu.Put(batch.table),
               .misses = gpu.Put(staged)});
}

// A mapped file's rows begin wherever its header ends.
TEST(GatherRowsTest, ReadsRowsThatBeginAnywhere) {
  const Shape shape = {65, 128};
  const Batch batch = MakeBatch(shape, 6);
  for (const size_t begin : {4, 8, 16, 48, 100, 112}) {
    SCOPED_TRACE(begin);
    std::vector<std::byte> file(begin);
    file.insert(file.end(), batch.store.begin(), batch.store.end());
    TestGpu gpu;
    ExpectBatch(shape, batch, &gpu,
                {.ranks = gpu.Put(batch.ranks),
                 .miss_places = gpu.Put(batch.nodes),
                 .table = gpu.Put(batch.table),
                 .misses = gpu.Put(file) + begin});
  }
}

TEST(GatherRowsTest, RefusesWhatItCannotWrite) {
  TestGpu gpu;
  auto* const out = gpu.Room<std::byte>(64);
  const GatherRowsArgs good = {.out = out, .num_hits = gpu.Room<uint32_t>(1)};
  GatherRowsArgs bad = good;
  EXPECT_EQ(LaunchGatherRows(good, gpu.stream()), cudaSuccess);
  bad.columns = 0;
  EXPECT_EQ(LaunchGatherRows(bad, gpu.stream()), cudaErrorInvalidValue);
  bad = good;
  bad.to_type = FeatureType::kFloat16;
  EXPECT_EQ(LaunchGatherRows(bad, gpu.stream()), cudaErrorInvalidValue);
  bad = good;
  bad.out = out + 4;
  EXPECT_EQ(LaunchGatherRows(bad, gpu.stream()), cudaErrorInvalidValue);
}

}  // namespace
}  // namespace fgnn
