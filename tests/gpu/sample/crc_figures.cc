#include "tests/gpu/sample/crc_figures.h"

#include <cuda_runtime_api.h>

#include <algorithm>
#include <cstring>
#include <vector>

#include "absl/strings/str_cat.h"
#include "sampler_service/sampling/cuda/crcs/array_crcs.h"
#include "shared/base/clock.h"
#include "shared/base/crc32c.h"
#include "tests/gpu/gpu_bench.h"

namespace fgnn {
namespace {

constexpr int kRounds = 5;
constexpr uint32_t kCopies = 64;

// An array on the device with its size and what the kernel writes.
class CrcOnGpu {
 public:
  CrcOnGpu(OnGpu<uint32_t> words, uint32_t num_blocks)
      : words_(std::move(words)),
        count_(std::vector<uint32_t>{static_cast<uint32_t>(words_.size())}),
        written_(std::vector<uint32_t>{0}) {
    args_ = {
        .num_arrays = 1,
        .arrays = {{.words = words_.get(), .count = count_.get(), .more = 0}},
        .remainders = written_.get(),
        .num_blocks = static_cast<uint32_t>(
            std::min<uint64_t>(CrcChunks(words_.size()), num_blocks))};
  }

  double Seconds(const GpuClock& clock) const {
    return clock.Seconds(
        kRounds, [&](int) { return LaunchArrayCrcs(args_, clock.stream()); });
  }
  uint32_t Crc(const GpuClock& clock) const {
    Must(cudaMemsetAsync(written_.get(), 0, 4, clock.stream()), "clear");
    Must(LaunchArrayCrcs(args_, clock.stream()), "launch");
    return ExtendCrc32cBy(
        0, RemainderOfArray(written_.Copy()[0], words_.size()), words_.bytes());
  }

 private:
  OnGpu<uint32_t> words_;
  OnGpu<uint32_t> count_;
  OnGpu<uint32_t> written_;
  ArrayCrcsArgs args_ = {};
};

}  // namespace

void PrintCrcs(const std::string& name, absl::Span<const std::byte> task,
               uint32_t num_blocks, Report* report) {
  const GpuClock clock;
  const double rate = MemoryRate(clock);
  std::vector<uint32_t> words(task.size() / sizeof(uint32_t));
  const uint64_t bytes = words.size() * sizeof(uint32_t);
  std::memcpy(words.data(), task.data(), bytes);
  const auto print = [&](const std::string& what, double seconds,
                         uint64_t of_bytes) {
    const double floor = static_cast<double>(of_bytes) / rate;
    report->Figure(
        absl::StrCat(name, ": ", what), seconds * 1e3, "ms",
        absl::StrCat(Report::Number(double(of_bytes) / seconds / 1e9),
                     " GB/s; memory alone ", Report::Number(floor * 1e3),
                     " ms"));
  };

  const Stopwatch watch;
  uint32_t crc = 0;
  for (int round = 0; round < kRounds; ++round) {
    crc = ExtendCrc32c(0, words.data(), bytes);
  }
  print("CRC on the host", watch.Seconds() / kRounds, bytes);
  uint32_t crc_of_all = 0;
  OnGpu<uint32_t> all(words.size() * kCopies);
  for (uint32_t i = 0; i < kCopies; ++i) {
    Must(cudaMemcpy(all.get() + i * words.size(), words.data(), bytes,
                    cudaMemcpyHostToDevice),
         "copy to the device");
    crc_of_all = ExtendCrc32c(crc_of_all, words.data(), bytes);
  }
  const CrcOnGpu one(OnGpu<uint32_t>(words), num_blocks);
  print("CRC on the device", one.Seconds(clock), bytes);
  const CrcOnGpu many(std::move(all), num_blocks);
  print(absl::StrCat("CRC on the device, ", kCopies, " copies"),
        many.Seconds(clock), bytes * kCopies);
  report->Check(absl::StrCat(name, ": CRC on both"),
                one.Crc(clock) == crc && many.Crc(clock) == crc_of_all,
                absl::StrCat(crc, ", ", crc_of_all));
}

}  // namespace fgnn
