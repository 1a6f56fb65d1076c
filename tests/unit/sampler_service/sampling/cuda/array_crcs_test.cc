// The kernel of checksums in the emulator, against the host's CRC.
#include "sampler_service/sampling/cuda/crcs/array_crcs.h"

#include <gtest/gtest.h>

#include <vector>

#include "absl/strings/str_cat.h"
#include "shared/base/crc32c.h"
#include "shared/base/philox.h"
#include "shared/device/cuda/device_array.h"
#include "shared/device/cuda/stream.h"
#include "tests/fakes/status_matchers.h"
#include "tests/unit/sampler_service/sampling/cuda/cuda_case.h"

namespace fgnn {
namespace {

constexpr uint32_t kChunkWords = kCrcChunkRows * kCrcRowWords;

std::vector<uint32_t> RandomWords(uint64_t count, uint64_t seed) {
  std::vector<uint32_t> words(count);
  for (uint64_t i = 0; i < count; ++i) {
    words[i] = static_cast<uint32_t>(Mix64(seed << 40 | i));
  }
  return words;
}

DeviceArray<uint32_t> ToDevice(const std::vector<uint32_t>& words,
                               const CudaStream& stream) {
  auto array = DeviceArray<uint32_t>::Make(words.size());
  EXPECT_THAT(array, IsOk());
  EXPECT_EQ(cudaMemcpyAsync(array->get(), words.data(), words.size() * 4,
                            cudaMemcpyHostToDevice, stream.get()),
            cudaSuccess);
  EXPECT_EQ(cudaStreamSynchronize(stream.get()), cudaSuccess);
  return *std::move(array);
}

// Computes the CRCs of the arrays by one launch and expects the host's. Each
// has fewer words than there is room for.
void ExpectHostsCrcs(const std::vector<std::vector<uint32_t>>& arrays,
                     uint32_t num_blocks) {
  const CudaStream stream = CudaStream::Make().value();
  std::vector<DeviceArray<uint32_t>> on_device;
  std::vector<uint32_t> counts;
  for (const std::vector<uint32_t>& words : arrays) {
    std::vector<uint32_t> longer = words;
    longer.resize(words.size() + 9, 0x5a5a'5a5a);
    on_device.push_back(ToDevice(longer, stream));
    counts.push_back(static_cast<uint32_t>(words.size()));
  }
  // The count of every second array lacks a word.
  for (size_t a = 1; a < counts.size(); a += 2) --counts[a];
  const DeviceArray<uint32_t> device_counts = ToDevice(counts, stream);
  const DeviceArray<uint32_t> remainders =
      ToDevice(std::vector<uint32_t>(arrays.size()), stream);
  ArrayCrcsArgs args = {.num_arrays = static_cast<uint32_t>(arrays.size()),
                        .arrays = {},
                        .remainders = remainders.get(),
                        .num_blocks = num_blocks};
  for (uint32_t a = 0; a < args.num_arrays; ++a) {
    args.arrays[a] = {.words = on_device[a].get(),
                      .count = device_counts.get() + a,
                      .more = a % 2};
  }
  ASSERT_EQ(LaunchArrayCrcs(args, stream.get()), cudaSuccess);
  std::vector<uint32_t> written(arrays.size());
  ASSERT_EQ(
      cudaMemcpyAsync(written.data(), remainders.get(), written.size() * 4,
                      cudaMemcpyDeviceToHost, stream.get()),
      cudaSuccess);
  ASSERT_EQ(cudaStreamSynchronize(stream.get()), cudaSuccess);
  for (size_t a = 0; a < arrays.size(); ++a) {
    const uint64_t size = arrays[a].size();
    EXPECT_EQ(ExtendCrc32cBy(0, RemainderOfArray(written[a], size), 4 * size),
              ExtendCrc32c(0, arrays[a].data(), 4 * size))
        << "array " << a << " of " << size << " words";
  }
}

class ArrayCrcsTest : public testing::TestWithParam<uint64_t> {
 protected:
  void SetUp() override { StartDevice(GetParam(), size_t{64} << 20); }
};

TEST_P(ArrayCrcsTest, ArraysOfEverySizeHaveTheHostsCrcs) {
  // On both sides of four words, a warp's, a row and a chunk.
  std::vector<std::vector<uint32_t>> arrays;
  for (const uint32_t size :
       {0U, 1U, 2U, 3U, 4U, 5U, 31U, 32U, 33U, 127U, 128U, 129U,
        kCrcRowWords - 1, kCrcRowWords, kCrcRowWords + 1, kChunkWords - 1,
        kChunkWords, kChunkWords + 1, 2 * kChunkWords + kCrcRowWords + 2}) {
    arrays.push_back(RandomWords(size, arrays.size()));
  }
  ExpectHostsCrcs(arrays, /*num_blocks=*/3);
}

TEST_P(ArrayCrcsTest, BlocksMayBeMoreThanChunksOrFewer) {
  const std::vector<std::vector<uint32_t>> arrays = {
      RandomWords(3 * kChunkWords + 7, 1), RandomWords(5, 2),
      RandomWords(kChunkWords + 1, 3)};
  for (const uint32_t num_blocks : {1, 2, 6, 7, 11}) {
    SCOPED_TRACE(absl::StrCat(num_blocks, " blocks"));
    ExpectHostsCrcs(arrays, num_blocks);
  }
}

TEST_P(ArrayCrcsTest, ABatchMayHaveAllArrays) {
  std::vector<std::vector<uint32_t>> arrays;
  for (uint32_t a = 0; a < kMaxCrcArrays; ++a) {
    arrays.push_back(RandomWords(1 + a * 37 % 200, a));
  }
  ExpectHostsCrcs(arrays, /*num_blocks=*/4);
}

TEST_P(ArrayCrcsTest, ZerosCountToo) {
  ExpectHostsCrcs({std::vector<uint32_t>(1500),
                   std::vector<uint32_t>(1),
                   {0, 0, 0, 1},
                   {1, 0, 0, 0}},
                  /*num_blocks=*/2);
}

INSTANTIATE_TEST_SUITE_P(Interleavings, ArrayCrcsTest,
                         testing::Range(uint64_t{0}, uint64_t{5}));

}  // namespace
}  // namespace fgnn
