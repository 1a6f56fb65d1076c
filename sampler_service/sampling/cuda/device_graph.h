// A graph that all samplers of a device share.
#ifndef FGNN_SAMPLER_SERVICE_SAMPLING_CUDA_DEVICE_GRAPH_H_
#define FGNN_SAMPLER_SERVICE_SAMPLING_CUDA_DEVICE_GRAPH_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "sampler_service/sampling/alias_tables.h"
#include "sampler_service/sampling/cuda/device_hop.h"
#include "sampler_service/sampling/cuda/device_weights.h"
#include "sampler_service/sampling/device_samplers.h"
#include "sampler_service/sampling/sampler.h"
#include "shared/base/threads/mutex.h"
#include "shared/device/cuda/device_array.h"
#include "shared/device/cuda/pinned_range.h"
#include "shared/graph/dataset.h"

namespace fgnn {

// Hot ranks in device memory: [num_nodes].
using DeviceRanks = std::shared_ptr<const DeviceArray<uint32_t>>;

// Alias tables where kernels read the topology.
struct DeviceTables {
  DeviceWeights view = {};
  // The arrays of kDevice, or of kHost.
  DeviceArray<AliasCell> cells;
  DeviceArray<float> weights;
  std::optional<PinnedRange> host_cells;
  std::optional<PinnedRange> host_weights;
};
using UploadedTables = std::shared_ptr<const DeviceTables>;

// Owned by its samplers together, each on a thread of its own. Thread-safe.
class DeviceGraph {
 public:
  // Uploads or registers the arrays for device number `device`, and makes it
  // the calling thread's. With kHost they must outlive the graph.
  // ResourceExhausted: the device has no memory for them. Internal: CUDA
  // refuses.
  static absl::StatusOr<std::shared_ptr<DeviceGraph>> Make(const CscView& graph,
                                                           int device,
                                                           TopologyPlace place);

  // Makes the graph's device the calling thread's.
  absl::Status ChooseDevice() const;

  // Returns these ranks on the device. Samplers that are given the same ranks
  // share one copy. ResourceExhausted: no device memory.
  absl::StatusOr<DeviceRanks> Upload(const HotRanks& ranks);

  // Returns these tables on the device, or registered, as the topology is; one
  // copy for all samplers. ResourceExhausted: no device memory. Internal: CUDA
  // refuses.
  absl::StatusOr<UploadedTables> Upload(const AliasTables& tables);

  const DeviceCsc& csc() const { return csc_; }
  // The graph that it was made of, for errors.
  const CscView& host() const { return host_; }
  uint32_t num_multiprocessors() const { return num_multiprocessors_; }
  uint64_t device_bytes() const { return indptr_.bytes() + indices_.bytes(); }

 private:
  DeviceGraph() = default;
  absl::Status CopyArrays(const CscView& graph);
  absl::Status RegisterArrays(const CscView& graph);

  int device_ = 0;
  TopologyPlace place_ = TopologyPlace::kDevice;
  uint32_t num_multiprocessors_ = 1;
  CscView host_;
  DeviceCsc csc_ = {};
  // The arrays of kDevice.
  DeviceArray<int64_t> indptr_;
  DeviceArray<std::byte> indices_;
  // The arrays of kHost.
  std::optional<PinnedRange> host_indptr_;
  std::optional<PinnedRange> host_indices_;

  Mutex mutex_;
  // The ranks uploaded last, as long as a sampler has them.
  HotRanks ranks_ ABSL_GUARDED_BY(mutex_);
  std::weak_ptr<const DeviceArray<uint32_t>> device_ranks_
      ABSL_GUARDED_BY(mutex_);
  // The tables uploaded last, and their cells on the host.
  const AliasCell* cells_ ABSL_GUARDED_BY(mutex_) = nullptr;
  std::weak_ptr<const DeviceTables> tables_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace fgnn

#endif  // FGNN_SAMPLER_SERVICE_SAMPLING_CUDA_DEVICE_GRAPH_H_
