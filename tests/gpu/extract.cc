// Gathers batches of rows on a real GPU: the bits against a loop on the CPU,
// and the time against what HBM and PCIe can do.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "tests/gpu/gpu_bench.h"
#include "tests/gpu/report.h"
#include "tests/gpu/stored_rows.h"
#include "trainer_service/compute/numbers.h"
#include "trainer_service/features/cuda/gather_rows.h"
#include "trainer_service/features/cuda/miss_rows.h"
#include "trainer_service/features/cuda/order_misses.h"

namespace fgnn {
namespace {

constexpr uint64_t kStoreBytes = uint64_t{8} << 30;
constexpr double kTarget = 0.8;  // Of the slower of HBM and PCIe.

uint32_t BytesOfNumber(FeatureType type) {
  return type == FeatureType::kFloat32 ? 4 : 2;
}
std::string NameOfType(FeatureType type) {
  return type == FeatureType::kFloat32   ? "f32"
         : type == FeatureType::kFloat16 ? "f16"
                                         : "bf16";
}

struct Shape {
  uint32_t rows;
  uint32_t columns;
  FeatureType type = FeatureType::kFloat32;
  FeatureType to_type = FeatureType::kFloat32;
  double hit_rate = 0.5;
  uint64_t offset = 0;   // Of the first row in the store.
  bool ordered = false;  // Whether LaunchOrderMisses() comes first.

  uint64_t row_bytes() const { return uint64_t{columns} * BytesOfNumber(type); }
  uint64_t out_bytes() const {
    return uint64_t{rows} * columns * BytesOfNumber(to_type);
  }
  uint64_t store_rows() const { return (kStoreBytes - offset) / row_bytes(); }
};

std::string NameOf(const Shape& shape) {
  char text[96];
  std::snprintf(text, sizeof(text), "%u x %u %s to %s, %.0f %% hits%s",
                shape.rows, shape.columns, NameOfType(shape.type).c_str(),
                NameOfType(shape.to_type).c_str(), 100 * shape.hit_rate,
                shape.ordered ? ", ordered" : "");
  return text;
}

// Different rows, each a hit with the shape's rate.
struct Batch {
  std::vector<uint32_t> ranks;
  std::vector<uint32_t> nodes;
  uint32_t hits = 0;
};

Batch MakeBatch(const Shape& shape, uint64_t seed) {
  const uint64_t stored = shape.store_rows();
  std::mt19937_64 random(seed);
  std::vector<bool> taken(stored);
  Batch batch;
  for (uint32_t i = 0; i < shape.rows; ++i) {
    uint64_t row = random() % stored;
    while (taken[row]) row = random() % stored;
    taken[row] = true;
    const bool hit =
        static_cast<double>(random() % 1000) < 1000 * shape.hit_rate;
    batch.hits += hit ? 1 : 0;
    batch.nodes.push_back(static_cast<uint32_t>(row));
    batch.ranks.push_back(static_cast<uint32_t>(hit ? row : stored + row));
  }
  return batch;
}

uint32_t Multiprocessors() {
  int count = 0;
  Must(cudaDeviceGetAttribute(&count, cudaDevAttrMultiProcessorCount, 0),
       "multiprocessors");
  return static_cast<uint32_t>(count);
}

// A batch in device memory.
struct PutBatch {
  PutBatch(const StoredRows& rows, const Shape& shape, const Batch& batch)
      : ranks(batch.ranks),
        nodes(batch.nodes),
        order(shape.rows),
        buckets(kMissBucketWords),
        out(shape.out_bytes()),
        hits(1) {
    args.ranks = ranks.get();
    args.miss_places = nodes.get();
    args.table = rows.table() + shape.offset;
    args.capacity = shape.store_rows();
    args.misses = rows.misses() + shape.offset;
    args.rows = shape.rows;
    args.columns = shape.columns;
    args.type = shape.type;
    args.to_type = shape.to_type;
    args.out = out.get();
    args.num_hits = hits.get();
    if (!shape.ordered) return;
    args.order = order.get();
    args.order_hits = buckets.get() + kMissBuckets;
    order_args.ranks = args.ranks;
    order_args.miss_places = args.miss_places;
    order_args.capacity = args.capacity;
    order_args.rows = args.rows;
    order_args.num_places = shape.store_rows();
    order_args.multiprocessors = Multiprocessors();
    order_args.order = order.get();
    order_args.buckets = buckets.get();
  }
  cudaError_t Launch(cudaStream_t stream) const {
    if (args.order != nullptr) {
      const cudaError_t error = LaunchOrderMisses(order_args, stream);
      if (error != cudaSuccess) return error;
    }
    return LaunchGatherRows(args, stream);
  }

  OnGpu<uint32_t> ranks;
  OnGpu<uint32_t> nodes;
  OnGpu<uint32_t> order;
  OnGpu<uint32_t> buckets;
  OnGpu<std::byte> out;
  OnGpu<uint32_t> hits;
  GatherRowsArgs args;
  OrderMissesArgs order_args;
};

float NumberAt(FeatureType type, const std::byte* row, uint32_t c) {
  if (type == FeatureType::kFloat32) {
    float number;
    std::memcpy(&number, row + 4 * uint64_t{c}, 4);
    return number;
  }
  uint16_t bits;
  std::memcpy(&bits, row + 2 * uint64_t{c}, 2);
  return type == FeatureType::kFloat16 ? Widen(Float16{bits})
                                       : Widen(Bfloat16{bits});
}

// Returns the numbers of `out` that are not a plain loop's.
uint64_t CountWrong(const StoredRows& rows, const Shape& shape,
                    const Batch& batch, const std::vector<std::byte>& out) {
  const uint64_t bytes = BytesOfNumber(shape.to_type);
  uint64_t wrong = 0;
  for (uint64_t i = 0; i < shape.rows; ++i) {
    const std::byte* const row =
        rows.host() + shape.offset + batch.nodes[i] * shape.row_bytes();
    for (uint32_t c = 0; c < shape.columns; ++c) {
      const float number = NumberAt(shape.type, row, c);
      const Bfloat16 rounded = RoundToBfloat16(number);
      const void* const wanted = bytes == 4
                                     ? static_cast<const void*>(&number)
                                     : static_cast<const void*>(&rounded);
      const uint64_t at = (i * shape.columns + c) * bytes;
      wrong += std::memcmp(&out[at], wanted, bytes) != 0 ? 1 : 0;
    }
  }
  return wrong;
}

void CheckShape(const StoredRows& rows, const GpuClock& clock,
                const Shape& shape, Report* report) {
  const Batch batch = MakeBatch(shape, shape.rows + shape.columns);
  const PutBatch put(rows, shape, batch);
  put.out.Poison();
  Must(cudaDeviceSynchronize(), "poison");
  Must(put.Launch(clock.stream()), "gather");
  const uint64_t wrong = CountWrong(rows, shape, batch, put.out.Copy());
  const uint32_t hits = put.hits.Copy()[0];
  char found[96];
  std::snprintf(found, sizeof(found), "%llu wrong numbers, %u of %u hits",
                static_cast<unsigned long long>(wrong), hits, batch.hits);
  report->Check(NameOf(shape), wrong == 0 && hits == batch.hits, found);
}

void CheckAll(const StoredRows& rows, const GpuClock& clock, Report* report) {
  for (const FeatureType type :
       {FeatureType::kFloat32, FeatureType::kFloat16, FeatureType::kBfloat16}) {
    for (const FeatureType to :
         {FeatureType::kFloat32, FeatureType::kBfloat16}) {
      for (const uint32_t columns : {1, 3, 100, 602}) {
        CheckShape(rows, clock, {5000, columns, type, to}, report);
      }
    }
  }
  for (const uint32_t count : {0, 1, 31, 32, 33, 90000}) {
    Shape shape = {count, 128};
    CheckShape(rows, clock, shape, report);
    shape.ordered = true;
    CheckShape(rows, clock, shape, report);
  }
  CheckShape(rows, clock,
             {5000, 128, FeatureType::kFloat32, FeatureType::kFloat32, 0.5, 80},
             report);
}

void TimeShape(const StoredRows& rows, const GpuClock& clock,
               double memory_rate, double copy_rate, const Shape& shape,
               Report* report) {
  // Batches take turns, so that none finds its rows in L2.
  const uint64_t batch_bytes =
      shape.rows * shape.row_bytes() + shape.out_bytes();
  const auto num_batches = static_cast<uint32_t>(
      std::clamp<uint64_t>((400 << 20) / batch_bytes, 2, 8));
  std::vector<PutBatch> batches;
  uint64_t hits = 0;
  for (uint32_t b = 0; b < num_batches; ++b) {
    const Batch batch = MakeBatch(shape, b);
    hits += batch.hits;
    batches.emplace_back(rows, shape, batch);
  }
  hits /= num_batches;
  const double row_bytes = static_cast<double>(shape.row_bytes());
  const double pcie_bytes = static_cast<double>(shape.rows - hits) * row_bytes;
  const double hbm_bytes = static_cast<double>(hits) * row_bytes +
                           static_cast<double>(shape.out_bytes()) +
                           8.0 * shape.rows;
  const double floor =
      std::max(hbm_bytes / memory_rate, pcie_bytes / copy_rate);
  const int calls = floor > 1e-3 ? 1 : 8;
  const double seconds = clock.Seconds(calls, [&](int i) {
    return batches[static_cast<size_t>(i) % num_batches].Launch(clock.stream());
  });
  char found[128];
  std::snprintf(found, sizeof(found),
                "%.1f us, HBM %.0f GB/s, PCIe %.1f GB/s; floor %.1f us: %.2f "
                "of the limit, at least %.1f",
                seconds * 1e6, hbm_bytes / seconds / 1e9,
                pcie_bytes / seconds / 1e9, floor * 1e6, floor / seconds,
                kTarget);
  // The limit is that of the way which trainers take.
  const bool orders = shape.rows - hits >= LeastOrderedMisses(kStoreBytes);
  if (shape.ordered == orders) {
    report->Check(NameOf(shape), floor / seconds >= kTarget, found);
  } else {
    report->Fact(NameOf(shape), "other way", found);
  }
}

void TimeAll(const StoredRows& rows, const GpuClock& clock, Report* report) {
  const double memory_rate = PrintMemoryRate(clock, report);
  const double copy_rate = rows.CopyRate(clock);
  report->Figure("PCIe, copy of 512 MiB", copy_rate / 1e9, "GB/s",
                 "host to device, pinned; limit 63: PCIe 5 x16");
  for (const uint32_t count : {90000, 1000000}) {
    for (const double hit_rate : {0.0, 0.5, 0.9, 1.0}) {
      for (const uint32_t columns : {100, 256}) {
        for (const FeatureType type :
             {FeatureType::kFloat32, FeatureType::kBfloat16}) {
          Shape shape = {count, columns, type, type, hit_rate};
          TimeShape(rows, clock, memory_rate, copy_rate, shape, report);
          if (hit_rate == 1) continue;
          shape.ordered = true;
          TimeShape(rows, clock, memory_rate, copy_rate, shape, report);
        }
      }
    }
  }
}

void Run(Parts parts, const GpuClock& clock, Report* report) {
  const StoredRows rows(kStoreBytes, Scramble);  // Any bytes.
  if (parts.checks) CheckAll(rows, clock, report);
  if (parts.times) TimeAll(rows, clock, report);
}

}  // namespace
}  // namespace fgnn

int main(int argc, char** argv) {
  return fgnn::RunParts(argc, argv, fgnn::Run);
}
