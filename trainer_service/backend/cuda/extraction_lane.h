// Gathers the rows of a task's input nodes into device memory.
#ifndef FGNN_TRAINER_SERVICE_BACKEND_CUDA_EXTRACTION_LANE_H_
#define FGNN_TRAINER_SERVICE_BACKEND_CUDA_EXTRACTION_LANE_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "shared/base/types.h"
#include "shared/device/cuda/device_array.h"
#include "shared/device/cuda/stream.h"
#include "trainer_service/backend/cuda/byte_count.h"
#include "trainer_service/compute/thread_team.h"
#include "trainer_service/features/cuda/device_cache.h"
#include "trainer_service/features/cuda/gather_rows.h"
#include "trainer_service/features/cuda/miss_rows.h"
#include "trainer_service/nn/cuda/device_task.h"

namespace fgnn {

// The rows to gather. Borrowed.
struct WantedRows {
  // Those of the rows that x gets, as the host has them.
  absl::Span<const GlobalId> nodes;
  // Hot ranks of as many nodes by the cache's order, or none: all are misses.
  absl::Span<const uint32_t> ranks;
  const DeviceCache* cache = nullptr;
  const DeviceTaskView* task = nullptr;  // Uploaded on this lane's stream.
};

// The stream and the buffers of a thread that extracts. One call at a time;
// lanes of one device work beside each other.
class ExtractionLane {
 public:
  // Borrows `misses`. `multiprocessors`: number of the device's. A batch of at
  // least least_ordered misses in registered memory is read in the order of the
  // store. ResourceExhausted: no memory.
  static absl::StatusOr<std::unique_ptr<ExtractionLane>> Make(
      const MissRows* misses, uint32_t multiprocessors, uint64_t least_ordered,
      std::shared_ptr<ByteCount> count);

  const CudaStream& stream() const { return stream_; }

  // Fills the task's rows, and waits until all work of the stream is done.
  // Stages with `team` what is staged. Counts tasks of the team while it waits.
  // Every node is below N. Returns how many were cached, as the device counted
  // them. ResourceExhausted: no memory. Otherwise returns errors of the store,
  // or Internal of CUDA.
  absl::StatusOr<uint64_t> Gather(const WantedRows& wanted, ThreadTeam& team);

 private:
  ExtractionLane(const MissRows* misses, uint32_t multiprocessors,
                 uint64_t least_ordered, std::shared_ptr<ByteCount> count,
                 CudaStream stream, CudaEvent done);

  // Queues all work; `done_` marks its end.
  absl::Status Queue(const WantedRows& wanted, ThreadTeam& team);
  // Set their part of the arguments.
  absl::Status Stage(const WantedRows& wanted, ThreadTeam& team,
                     GatherRowsArgs* args);
  absl::Status Order(GatherRowsArgs* args);
  absl::Status Copy(void* to, const void* from, uint64_t bytes,
                    cudaMemcpyKind kind);
  void CountBytes();

  const MissRows* const misses_;
  const uint32_t multiprocessors_;
  const uint64_t least_ordered_;
  CountedBytes bytes_;
  CudaStream stream_;
  CudaEvent done_;
  DeviceArray<uint32_t> num_hits_;       // [1]
  PinnedArray<uint32_t> host_num_hits_;  // [1]
  // Order of the rows and its buckets: see order_misses.h.
  DeviceArray<uint32_t> order_;
  DeviceArray<uint32_t> buckets_;
  // Staged misses, and for each node its place among them.
  std::vector<GlobalId> missing_;
  PinnedArray<uint32_t> host_places_;
  DeviceArray<uint32_t> places_;
  PinnedArray<std::byte> host_rows_;
  DeviceArray<std::byte> rows_;
};

}  // namespace fgnn

#endif  // FGNN_TRAINER_SERVICE_BACKEND_CUDA_EXTRACTION_LANE_H_
