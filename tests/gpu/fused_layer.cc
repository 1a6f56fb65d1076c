// The first layer's sums on a real GPU, by two ways in turns: all rows of a
// batch are copied and summed, or those that are not in the hot table are
// copied, and the others are summed where they lie. Same bits. Times are of all
// that a trainer does for them: the host packs the batch for the second way.
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <string>
#include <vector>

#include "shared/minibatch/task.h"
#include "tests/gpu/gpu_bench.h"
#include "tests/gpu/must_be_ok.h"
#include "tests/gpu/report.h"
#include "tests/gpu/stored_rows.h"
#include "trainer_service/backend/cuda/row_packer.h"
#include "trainer_service/features/cuda/gather_rows.h"
#include "trainer_service/nn/cuda/device_task.h"
#include "trainer_service/nn/cuda/kernels/neighbor_sums.h"

namespace fgnn {
namespace {

constexpr uint64_t kStoreBytes = uint64_t{1} << 30;
// Of a block: edges of a destination, and sources for each of 100 of them.
constexpr uint32_t kFanout = 5;
constexpr uint32_t kSourcesOf100 = 229;

struct Shape {
  uint32_t destinations;
  uint32_t columns;
  double hit_rate;
  bool sums_own;  // GraphSAGE and GIN read their destinations' rows too.

  uint32_t sources() const {
    return static_cast<uint32_t>(uint64_t{destinations} * kSourcesOf100 / 100);
  }
  uint64_t row_bytes() const { return uint64_t{columns} * sizeof(float); }
  uint32_t stored() const {
    return static_cast<uint32_t>(kStoreBytes / row_bytes());
  }
};

std::string NameOf(const Shape& shape) {
  char text[96];
  std::snprintf(text, sizeof(text), "%u rows x %u f32, %.0f %% hits%s",
                shape.sources(), shape.columns, 100 * shape.hit_rate,
                shape.sums_own ? ", own rows" : "");
  return text;
}

// Returns the bits of two floats in [0.5, 1).
uint64_t TwoFloats(uint64_t i) {
  return 0x3f0000003f000000u | (Scramble(i) & 0x007fffff007fffffu);
}

// A batch in host memory. Its block's sources are numbered as samplers do: each
// new one is found by an edge. A row's rank is its number in the store, or lies
// beyond the table.
struct Batch {
  std::vector<uint32_t> indptr = {0};
  std::vector<uint32_t> indices;
  std::vector<uint32_t> nodes;
  std::vector<uint32_t> ranks;

  TaskView task(const Shape& shape) const {
    TaskView task;
    task.num_seeds = shape.destinations;
    task.num_hops = 1;
    task.hops[0].num_destinations = shape.destinations;
    task.hops[0].num_sources = shape.sources();
    task.hops[0].indptr = indptr;
    task.hops[0].indices = indices;
    task.input_nodes = nodes;
    task.hot_rank = ranks;
    return task;
  }
};

Batch MakeBatch(const Shape& shape, uint64_t seed) {
  const uint32_t stored = shape.stored();
  Batch batch;
  uint32_t found = shape.destinations;
  for (uint32_t e = 0; e < shape.destinations * kFanout; ++e) {
    const bool is_new = e % 3 == 0 && found < shape.sources();
    batch.indices.push_back(
        is_new ? found++ : static_cast<uint32_t>(Scramble(seed ^ e) % found));
    if ((e + 1) % kFanout == 0) batch.indptr.push_back(e + 1);
  }
  for (uint32_t i = 0; i < shape.sources(); ++i) {
    const auto node = static_cast<uint32_t>(Scramble(seed + i) % stored);
    const double u = static_cast<double>(Scramble(~seed - i) >> 11) * 0x1p-53;
    batch.nodes.push_back(node);
    batch.ranks.push_back(u < shape.hit_rate ? node : stored);
  }
  return batch;
}

double SecondsSince(std::chrono::steady_clock::time_point begin) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin)
      .count();
}

CudaEvent TimedEvent() {
  absl::StatusOr<CudaEvent> event = CudaEvent::Make(CudaEvent::Times::kYes);
  MustBeOk(event.status());
  return *std::move(event);
}

// Of one batch.
struct Seconds {
  double packing = 0;  // By one thread of the host.
  double device = 0;   // Extraction and sums.
  double all = 0;      // From the batch in host memory to the sums.
};

// One of the two ways.
class Way {
 public:
  Way(const StoredRows& rows, const Shape& shape, bool packs)
      : rows_(rows),
        shape_(shape),
        packs_(packs),
        task_(shape.columns, FeatureType::kFloat32),
        out_(uint64_t{shape.destinations} * shape.columns),
        num_hits_(1) {}

  Seconds Run(const Batch& batch, const CudaStream& stream) {
    Seconds seconds;
    const TaskView task = batch.task(shape_);
    const auto begin = std::chrono::steady_clock::now();
    const PackedRows* packed = nullptr;
    if (packs_) {
      packed =
          packer_.Pack({.nodes = task.input_nodes,
                        .ranks = task.hot_rank,
                        .dense_rows = shape_.sums_own ? shape_.destinations : 0,
                        .row_bytes = shape_.row_bytes(),
                        .table = rows_.table(),
                        .capacity = shape_.stored()});
      Must(packed == nullptr ? cudaErrorInvalidValue : cudaSuccess, "pack");
      seconds.packing = SecondsSince(begin);
    }
    MustBeOk(task_.Upload(task, stream, {}, packed));
    MustBeOk(begin_.Record(stream));
    Must(Launch(stream.get()), "extract and sum");
    MustBeOk(end_.Record(stream));
    Must(cudaStreamSynchronize(stream.get()), "wait for the device");
    seconds.all = SecondsSince(begin);
    const absl::StatusOr<float> ms = end_.MillisecondsSince(begin_);
    MustBeOk(ms.status());
    seconds.device = *ms / 1e3;
    return seconds;
  }

  std::vector<float> Sums() const { return out_.Copy(); }
  uint32_t num_copied() const { return task_.view().num_rows; }

 private:
  cudaError_t Launch(cudaStream_t stream) const {
    const DeviceTaskView& view = task_.view();
    GatherRowsArgs gather;
    gather.ranks = view.hot_ranks;
    gather.miss_places = view.input_nodes;
    gather.table = rows_.table();
    gather.capacity = shape_.stored();
    gather.misses = rows_.misses();
    gather.rows = view.num_rows;
    gather.columns = shape_.columns;
    gather.out = view.x;
    gather.num_hits = num_hits_.get();
    NeighborSumsArgs sums;
    sums.indptr = view.hops[0].indptr;
    sums.indices = view.hops[0].indices;
    sums.num_lists = shape_.destinations;
    sums.columns = shape_.columns;
    sums.x = view.x;
    sums.placed = view.placed;
    sums.out = out_.get();
    sums.divisor = Divisor::kCount;
    const cudaError_t error = LaunchGatherRows(gather, stream);
    return error != cudaSuccess ? error : LaunchNeighborSums(sums, stream);
  }

  const StoredRows& rows_;
  const Shape shape_;
  const bool packs_;
  RowPacker packer_;
  DeviceTask task_;
  OnGpu<float> out_;
  OnGpu<uint32_t> num_hits_;
  CudaEvent begin_ = TimedEvent();
  CudaEvent end_ = TimedEvent();
};

// Returns the medians of some rounds of batches.
Seconds MediansOf(Way& way, const std::vector<Batch>& batches,
                  const CudaStream& stream) {
  constexpr size_t kRounds = 21;
  std::vector<Seconds> rounds;
  for (size_t round = 0; round < kRounds; ++round) {
    rounds.push_back(way.Run(batches[round % batches.size()], stream));
  }
  const auto median = [&rounds](double Seconds::*part) {
    std::nth_element(rounds.begin(), rounds.begin() + kRounds / 2, rounds.end(),
                     [part](const Seconds& a, const Seconds& b) {
                       return a.*part < b.*part;
                     });
    return rounds[kRounds / 2].*part;
  };
  return {median(&Seconds::packing), median(&Seconds::device),
          median(&Seconds::all)};
}

void Compare(const StoredRows& rows, const CudaStream& stream,
             const Shape& shape, Report* report) {
  std::vector<Batch> batches;  // Some, so that none finds its rows in L2.
  for (uint64_t seed = 0; seed < 3; ++seed) {
    batches.push_back(MakeBatch(shape, seed << 40));
  }
  Way copies(rows, shape, /*packs=*/false);
  Way packs(rows, shape, /*packs=*/true);
  copies.Run(batches[0], stream);
  packs.Run(batches[0], stream);
  const std::vector<float> copied = copies.Sums();
  const std::vector<float> placed = packs.Sums();
  report->Check(NameOf(shape) + ", bits",
                std::memcmp(copied.data(), placed.data(),
                            copied.size() * sizeof(float)) == 0,
                "of sums where rows lie, and of copies");
  const Seconds of_copies = MediansOf(copies, batches, stream);
  const Seconds of_packs = MediansOf(packs, batches, stream);
  const auto us = [](double seconds) { return Report::Number(seconds * 1e6); };
  report->Figure(
      NameOf(shape), of_packs.all / of_copies.all, "of the time of copies",
      us(of_packs.all) + " us beside " + us(of_copies.all) +
          ", from the host's arrays to the sums: packing " +
          us(of_packs.packing) + " and 0, extraction and sums " +
          us(of_packs.device) + " and " + us(of_copies.device) + "; " +
          std::to_string(packs.num_copied()) + " rows copied");
}

int Main() {
  if (!HasGpu()) return kNoGpu;
  Report report;
  const absl::StatusOr<CudaStream> stream = CudaStream::Make();
  MustBeOk(stream.status());
  const StoredRows rows(kStoreBytes, TwoFloats);
  for (const uint32_t destinations : {38000, 304000}) {
    for (const uint32_t columns : {100, 256}) {
      for (const double hit_rate : {0.5, 0.9, 1.0}) {
        for (const bool sums_own : {false, true}) {
          Compare(rows, *stream, {destinations, columns, hit_rate, sums_own},
                  &report);
        }
      }
    }
  }
  return report.Finish();
}

}  // namespace
}  // namespace fgnn

int main() { return fgnn::Main(); }
