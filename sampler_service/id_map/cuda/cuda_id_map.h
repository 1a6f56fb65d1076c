// Owns the device memory of an id map, and moves its base on from batch to
// batch.
#ifndef FGNN_SAMPLER_SERVICE_ID_MAP_CUDA_CUDA_ID_MAP_H_
#define FGNN_SAMPLER_SERVICE_ID_MAP_CUDA_CUDA_ID_MAP_H_

#include <algorithm>
#include <cstdint>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "sampler_service/id_map/cuda/device_id_map.h"
#include "shared/device/cuda/device_array.h"
#include "shared/device/cuda/stream.h"

namespace fgnn {

// The hard bound of a batch is far above what batches have. The map has room
// for the batches so far, so that its table stays in the device's cache. A
// batch that does not fit says so; it is made again after Grow().
// Thread-compatible. Its memory belongs to the current device.
class CudaIdMap {
 public:
  struct Options {
    uint64_t max_nodes = 1;   // Vertices that no batch exceeds, below 2^32.
    uint64_t first_room = 1;  // Vertices that there is room for at first.
    uint32_t first_base = 1;  // Tests give a large one, so that it wraps soon.
  };
  // ResourceExhausted: no device memory for the map.
  static absl::StatusOr<CudaIdMap> Make(const Options& options);

  // Forgets all vertices. The batch's lists have places below max_places.
  // `table_full` is a word of device memory. All kernels of the batch run on
  // `stream`. FailedPrecondition: values of 32 bits do not suffice.
  absl::StatusOr<DeviceIdMap> StartBatch(uint64_t max_places,
                                         uint32_t* table_full,
                                         const CudaStream& stream);
  // Says that the batch is numbered and has num_nodes vertices. A batch that
  // fails has no end; the next one then begins above all its values.
  void EndBatch(uint32_t num_nodes);

  // Makes room for at least `wanted` vertices, or for twice as many as before
  // if that is more, up to the bound. Waits for the device. ResourceExhausted:
  // no device memory; the map is of no more use. FailedPrecondition: more than
  // kMostMapNodes vertices.
  absl::Status Grow(uint64_t wanted);

  const uint32_t* nodes() const { return nodes_.get(); }
  // Returns the vertices that there is room for.
  uint64_t room() const { return nodes_.size(); }
  uint64_t device_bytes() const { return table_.bytes() + nodes_.bytes(); }

 private:
  explicit CudaIdMap(const Options& options)
      : max_nodes_(std::min(options.max_nodes, kMostMapNodes)),
        next_base_(options.first_base) {}

  absl::Status Allocate(uint64_t room);

  uint64_t max_nodes_;
  DeviceArray<uint64_t> table_;  // A power of two, at least twice the room.
  DeviceArray<uint32_t> nodes_;
  bool table_is_new_ = true;  // The table has no values yet.
  uint64_t base_ = 0;
  uint64_t next_base_;  // A value above all that the table has.
};

}  // namespace fgnn

#endif  // FGNN_SAMPLER_SERVICE_ID_MAP_CUDA_CUDA_ID_MAP_H_
