#include "trainer_service/backend/cuda/extraction_lane.h"

#include <cuda_runtime_api.h>

#include <algorithm>

#include "absl/memory/memory.h"
#include "shared/base/status.h"
#include "shared/device/cuda/status.h"
#include "trainer_service/features/cuda/order_misses.h"
#include "trainer_service/nn/cuda/growing_array.h"

namespace fgnn {
namespace {

uint64_t NumMisses(const WantedRows& wanted) {
  if (wanted.ranks.empty()) return wanted.nodes.size();
  const uint64_t capacity = wanted.cache->capacity();
  return static_cast<uint64_t>(
      std::count_if(wanted.ranks.begin(), wanted.ranks.end(),
                    [capacity](uint32_t rank) { return rank >= capacity; }));
}

}  // namespace

absl::StatusOr<std::unique_ptr<ExtractionLane>> ExtractionLane::Make(
    const MissRows* misses, uint32_t multiprocessors, uint64_t least_ordered,
    std::shared_ptr<ByteCount> count) {
  FGNN_ASSIGN_OR_RETURN(CudaStream stream, CudaStream::Make());
  FGNN_ASSIGN_OR_RETURN(CudaEvent done, CudaEvent::Make());
  auto lane = absl::WrapUnique(
      new ExtractionLane(misses, multiprocessors, least_ordered,
                         std::move(count), std::move(stream), std::move(done)));
  FGNN_ASSIGN_OR_RETURN(lane->num_hits_, DeviceArray<uint32_t>::Make(1));
  FGNN_ASSIGN_OR_RETURN(lane->host_num_hits_, PinnedArray<uint32_t>::Make(1));
  lane->CountBytes();
  return lane;
}

ExtractionLane::ExtractionLane(const MissRows* misses, uint32_t multiprocessors,
                               uint64_t least_ordered,
                               std::shared_ptr<ByteCount> count,
                               CudaStream stream, CudaEvent done)
    : misses_(misses),
      multiprocessors_(multiprocessors),
      least_ordered_(least_ordered),
      bytes_(std::move(count)),
      stream_(std::move(stream)),
      done_(std::move(done)) {}

absl::StatusOr<uint64_t> ExtractionLane::Gather(const WantedRows& wanted,
                                                ThreadTeam& team) {
  const absl::Status queued = Queue(wanted, team);
  CountBytes();
  FGNN_RETURN_IF_ERROR(queued);
  FGNN_RETURN_IF_ERROR(done_.WaitForWork([&team] { team.CountTask(); }));
  return *host_num_hits_.get();
}

absl::Status ExtractionLane::Queue(const WantedRows& wanted, ThreadTeam& team) {
  const FeatureStore& store = misses_->store();
  GatherRowsArgs args;
  args.ranks = wanted.ranks.empty() ? nullptr : wanted.task->hot_ranks;
  args.miss_places = wanted.task->input_nodes;
  args.table = wanted.cache->rows();
  args.capacity = wanted.cache->capacity();
  args.misses = misses_->on_device();
  args.rows = static_cast<uint32_t>(wanted.nodes.size());
  args.columns = static_cast<uint32_t>(store.num_columns());
  args.type = store.type();
  args.to_type = wanted.task->x_type;
  args.out = wanted.task->x;
  args.num_hits = num_hits_.get();
  if (args.misses == nullptr) {
    FGNN_RETURN_IF_ERROR(Stage(wanted, team, &args));
  } else if (wanted.nodes.size() >= least_ordered_ &&
             NumMisses(wanted) >= least_ordered_) {
    FGNN_RETURN_IF_ERROR(Order(&args));
  }
  FGNN_RETURN_IF_ERROR(CudaStatus(LaunchGatherRows(args, stream_.get()),
                                  "cannot gather a batch's features"));
  FGNN_RETURN_IF_ERROR(Copy(host_num_hits_.get(), num_hits_.get(),
                            sizeof(uint32_t), cudaMemcpyDeviceToHost));
  return done_.Record(stream_);
}

absl::Status ExtractionLane::Stage(const WantedRows& wanted, ThreadTeam& team,
                                   GatherRowsArgs* args) {
  const uint64_t count = wanted.nodes.size();
  const uint64_t row_bytes = misses_->store().row_bytes();
  FGNN_RETURN_IF_ERROR(GrowArray(count, &host_places_));
  FGNN_RETURN_IF_ERROR(GrowArray(count, &places_));
  missing_.clear();
  const uint64_t capacity = args->ranks == nullptr ? 0 : args->capacity;
  for (uint64_t i = 0; i < count; ++i) {
    // A hit has the place of the next miss, which is not read.
    host_places_.get()[i] = static_cast<uint32_t>(missing_.size());
    if (args->ranks == nullptr || wanted.ranks[i] >= capacity) {
      missing_.push_back(wanted.nodes[i]);
    }
  }
  const uint64_t bytes = missing_.size() * row_bytes;
  FGNN_RETURN_IF_ERROR(GrowArray(bytes, &host_rows_));
  FGNN_RETURN_IF_ERROR(GrowArray(bytes, &rows_));
  FGNN_RETURN_IF_ERROR(
      misses_->store().LoadStoredRows(missing_, host_rows_.get(), team));
  args->miss_places = places_.get();
  args->misses = rows_.get();
  FGNN_RETURN_IF_ERROR(Copy(places_.get(), host_places_.get(),
                            count * sizeof(uint32_t), cudaMemcpyHostToDevice));
  return Copy(rows_.get(), host_rows_.get(), bytes, cudaMemcpyHostToDevice);
}

absl::Status ExtractionLane::Order(GatherRowsArgs* args) {
  FGNN_RETURN_IF_ERROR(GrowArray(args->rows, &order_));
  FGNN_RETURN_IF_ERROR(GrowArray(kMissBucketWords, &buckets_));
  FGNN_RETURN_IF_ERROR(
      CudaStatus(LaunchOrderMisses({.ranks = args->ranks,
                                    .miss_places = args->miss_places,
                                    .capacity = args->capacity,
                                    .rows = args->rows,
                                    .num_places = misses_->store().num_rows(),
                                    .multiprocessors = multiprocessors_,
                                    .order = order_.get(),
                                    .buckets = buckets_.get()},
                                   stream_.get()),
                 "cannot order a batch's features"));
  args->order = order_.get();
  args->order_hits = buckets_.get() + kMissBuckets;
  return absl::OkStatus();
}

absl::Status ExtractionLane::Copy(void* to, const void* from, uint64_t bytes,
                                  cudaMemcpyKind kind) {
  if (bytes == 0) return absl::OkStatus();
  return CudaStatus(cudaMemcpyAsync(to, from, bytes, kind, stream_.get()),
                    "cannot copy what belongs to a batch's features");
}

void ExtractionLane::CountBytes() {
  bytes_.Set(
      num_hits_.bytes() + order_.bytes() + buckets_.bytes() + places_.bytes() +
          rows_.bytes(),
      host_num_hits_.bytes() + host_places_.bytes() + host_rows_.bytes());
}

}  // namespace fgnn
