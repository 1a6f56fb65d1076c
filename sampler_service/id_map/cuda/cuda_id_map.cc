#include "sampler_service/id_map/cuda/cuda_id_map.h"

#include <cuda_runtime_api.h>

#include <algorithm>
#include <bit>

#include "absl/strings/str_cat.h"
#include "shared/base/status.h"
#include "shared/device/cuda/status.h"

namespace fgnn {
namespace {

constexpr uint64_t kFewestEntries = 8;
// A table that is half full hardly ever probes this far. One that probes
// further is too small for its batch, and is not searched to its end.
constexpr uint64_t kMaxProbes = 1024;

}  // namespace

absl::StatusOr<CudaIdMap> CudaIdMap::Make(const Options& options) {
  CudaIdMap map(options);
  FGNN_RETURN_IF_ERROR(map.Allocate(
      std::clamp<uint64_t>(options.first_room, 1, map.max_nodes_)));
  return map;
}

absl::Status CudaIdMap::Allocate(uint64_t room) {
  const uint64_t entries = std::max(kFewestEntries, std::bit_ceil(2 * room));
  // The old arrays go first: the device may not have room for both.
  table_ = {};
  nodes_ = {};
  FGNN_ASSIGN_OR_RETURN(table_, DeviceArray<uint64_t>::Make(entries));
  FGNN_ASSIGN_OR_RETURN(nodes_, DeviceArray<uint32_t>::Make(room));
  table_is_new_ = true;
  return absl::OkStatus();
}

absl::StatusOr<DeviceIdMap> CudaIdMap::StartBatch(uint64_t max_places,
                                                  uint32_t* table_full,
                                                  const CudaStream& stream) {
  const uint64_t num_values = room() + max_places;
  if (num_values >= UINT32_MAX) {
    return absl::FailedPreconditionError(
        absl::StrCat("a batch of up to ", room(), " vertices and ", max_places,
                     " edges a hop; 2^32 - 2 of both are the most on a GPU: "
                     "lower sampling.batch_size or sampling.fanouts"));
  }
  const bool wraps = next_base_ + num_values > UINT32_MAX;
  if (table_is_new_ || wraps) {
    // Zeros are below every base.
    FGNN_RETURN_IF_ERROR(CudaStatus(
        cudaMemsetAsync(table_.get(), 0, table_.bytes(), stream.get()),
        "clear the id map"));
    table_is_new_ = false;
    if (wraps) next_base_ = 1;
  }
  base_ = next_base_;
  next_base_ = base_ + num_values;
  const uint64_t entries = table_.size();
  return DeviceIdMap{
      .table = table_.get(),
      .mask = entries - 1,
      .shift = 64 - static_cast<uint32_t>(std::countr_zero(entries)),
      .max_probes =
          room() == max_nodes_ ? entries : std::min(entries, kMaxProbes),
      .base = static_cast<uint32_t>(base_),
      .first_place = static_cast<uint32_t>(base_ + room()),
      .max_nodes = static_cast<uint32_t>(room()),
      .nodes = nodes_.get(),
      .table_full = table_full};
}

void CudaIdMap::EndBatch(uint32_t num_nodes) { next_base_ = base_ + num_nodes; }

absl::Status CudaIdMap::Grow(uint64_t wanted) {
  if (wanted > kMostMapNodes) {
    return absl::FailedPreconditionError(
        absl::StrCat("a batch of ", wanted, " vertices; ", kMostMapNodes,
                     " are the most on a GPU: lower sampling.batch_size or "
                     "sampling.fanouts"));
  }
  const uint64_t more = std::max(wanted + wanted / 4, 2 * room());
  return Allocate(std::min(more, max_nodes_));
}

}  // namespace fgnn
