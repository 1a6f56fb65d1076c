// A batch in device memory: its buffers, the kernels that make it, and its way
// to the host.
#ifndef FGNN_SAMPLER_SERVICE_SAMPLING_CUDA_DEVICE_BATCH_H_
#define FGNN_SAMPLER_SERVICE_SAMPLING_CUDA_DEVICE_BATCH_H_

#include <cstdint>
#include <memory>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "sampler_service/id_map/cuda/cuda_id_map.h"
#include "sampler_service/sampling/cuda/batch_buffers.h"
#include "sampler_service/sampling/cuda/crcs/batch_crcs.h"
#include "sampler_service/sampling/cuda/device_graph.h"
#include "sampler_service/sampling/cuda/stage_clock.h"
#include "sampler_service/sampling/progress.h"
#include "sampler_service/sampling/sampler.h"
#include "shared/device/cuda/device_array.h"
#include "shared/device/cuda/stream.h"
#include "shared/minibatch/batches_per_epoch.h"
#include "shared/minibatch/task.h"

namespace fgnn {

// Vertices of a batch and edges of a hop that there is room for at first.
struct BatchRoom {
  uint64_t nodes = 1 << 14;
  uint64_t edges = 1 << 14;
};

// What no batch exceeds.
struct BatchBounds {
  uint64_t seed_ids = 1;
  uint64_t nodes = 1;
};

// The buffers have room for the batches so far; a larger batch makes them grow
// and is made again. All kernels of a batch are launched without a wait: the
// host waits for the sizes, and once more for the arrays. Thread-compatible.
class DeviceBatch {
 public:
  // The options are valid; `weights` are the graph's for kWeighted, else null.
  // ResourceExhausted: no device memory.
  static absl::StatusOr<std::unique_ptr<DeviceBatch>> Make(
      std::shared_ptr<DeviceGraph> graph, UploadedTables weights,
      const SamplerOptions& options, const BatchBounds& bounds,
      const BatchRoom& first_room);

  // Global ids that the batch begins with, [bounds.seed_ids], in pinned memory:
  // seeds, or the ends of pairs. The caller writes them before Sample().
  absl::Span<uint32_t> seed_ids() const { return host_seeds_.span(); }

  // Makes the batch of the first num_seed_ids of seed_ids(). For link
  // prediction the first 2 * num_positives are its training edges. Waits until
  // its sizes are known. Adds the device's seconds to `seconds`.
  // InvalidArgument: the graph is damaged. FailedPrecondition: the device has
  // no memory for the batch, now or before, or the batch has 2^32 edges.
  absl::Status Sample(BatchPlace place, uint32_t num_seed_ids,
                      uint32_t num_positives, Progress* progress,
                      SampleSeconds* seconds);

  // Marks batches from now on; null: no longer.
  void MarkBy(DeviceRanks ranks) { ranks_ = std::move(ranks); }

  // Sizes of the batch that Sample() made.
  const DeviceList& seeds() const { return host_counts_.get()->lists[0]; }
  const DeviceList& hop(uint32_t h) const {
    return host_counts_.get()->lists[h + 1];
  }
  uint32_t num_nodes() const { return hop(num_hops() - 1).num_nodes; }
  // Checksums of its task's arrays, as they are in device memory.
  TaskCrcs Checksums() const { return JoinCrcs(Arrays(), *host_counts_.get()); }

  // Start copies to the host, which may write while they run. They end before
  // Wait() returns.
  absl::Status CopySeedIds(uint32_t* local_ids);
  absl::Status CopyHop(uint32_t h, const TaskWriter::HopArrays& arrays);
  absl::Status CopyNodes(uint32_t* nodes);
  absl::Status CopyMarks(uint32_t* marks);
  absl::Status Wait(Progress* progress);

  // Returns the bytes of device memory and of pinned host memory.
  uint64_t device_bytes() const;
  uint64_t pinned_bytes() const;

 private:
  DeviceBatch(std::shared_ptr<DeviceGraph> graph, UploadedTables weights,
              const SamplerOptions& options, CudaStream stream, CudaEvent event,
              StageClock clock, CudaIdMap id_map);

  uint32_t num_hops() const {
    return static_cast<uint32_t>(options_.fanouts.size());
  }
  TaskArrays Arrays() const;
  absl::Status Allocate(const BatchBounds& bounds, uint64_t num_edges);

  // Launches all kernels of a batch.
  absl::Status Launch(BatchPlace place, uint32_t num_seed_ids,
                      uint32_t num_positives);
  absl::Status Begin(uint32_t num_seed_ids);
  // Returns false if the batch did not fit; there is more room then.
  absl::StatusOr<bool> Fits();
  absl::Status Grow(uint64_t wanted_nodes);
  absl::Status CheckGraph() const;
  // Starts a copy of `count` words.
  absl::Status Copy(const void* from, uint64_t count, void* to);

  std::shared_ptr<DeviceGraph> graph_;
  UploadedTables weights_;
  const SamplerOptions options_;
  const uint32_t num_blocks_;
  bool lacks_memory_ = false;  // Some buffer could not grow.
  CudaStream stream_;
  CudaEvent done_;
  StageClock clock_;
  CudaIdMap id_map_;
  DeviceRanks ranks_;
  PinnedArray<uint32_t> host_seeds_;
  PinnedArray<BatchCounts> host_counts_;
  BatchBuffers buffers_;
};

}  // namespace fgnn

#endif  // FGNN_SAMPLER_SERVICE_SAMPLING_CUDA_DEVICE_BATCH_H_
