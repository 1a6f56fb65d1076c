#include "trainer_service/features/cuda/device_cache.h"

#include <cuda_runtime_api.h>

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "shared/base/status.h"
#include "shared/base/units.h"
#include "shared/device/cuda/status.h"

namespace fgnn {
namespace {

// Bytes of a pinned buffer: enough for the threads to share, and for the bus.
constexpr uint64_t kChunkBytes = 8 << 20;

// A part of the table on its way. The host fills one buffer while the device
// reads the other.
struct Chunk {
  PinnedArray<std::byte> rows;
  CudaEvent copied;
};

absl::StatusOr<Chunk> MakeChunk(uint64_t bytes) {
  FGNN_ASSIGN_OR_RETURN(PinnedArray<std::byte> rows,
                        PinnedArray<std::byte>::Make(bytes));
  FGNN_ASSIGN_OR_RETURN(CudaEvent copied, CudaEvent::Make());
  return Chunk{std::move(rows), std::move(copied)};
}

absl::Status Fill(const FeatureStore& store, absl::Span<const GlobalId> hottest,
                  const CudaStream& stream, ThreadTeam& team,
                  std::byte* table) {
  const uint64_t row_bytes = store.row_bytes();
  const uint64_t most = std::max<uint64_t>(kChunkBytes / row_bytes, 1);
  const uint64_t rows_per_chunk = std::min<uint64_t>(most, hottest.size());
  FGNN_ASSIGN_OR_RETURN(Chunk one, MakeChunk(rows_per_chunk * row_bytes));
  FGNN_ASSIGN_OR_RETURN(Chunk other, MakeChunk(rows_per_chunk * row_bytes));
  for (uint64_t first = 0; first < hottest.size(); first += rows_per_chunk) {
    FGNN_RETURN_IF_ERROR(one.copied.WaitForWork([&team] { team.CountTask(); }));
    const absl::Span<const GlobalId> nodes =
        hottest.subspan(first, rows_per_chunk);
    FGNN_RETURN_IF_ERROR(store.LoadStoredRows(nodes, one.rows.get(), team));
    FGNN_RETURN_IF_ERROR(
        CudaStatus(cudaMemcpyAsync(table + first * row_bytes, one.rows.get(),
                                   nodes.size() * row_bytes,
                                   cudaMemcpyHostToDevice, stream.get()),
                   "cannot copy a part of the cache to the device"));
    FGNN_RETURN_IF_ERROR(one.copied.Record(stream));
    std::swap(one, other);
  }
  // The last copy ends after all others.
  return other.copied.WaitForWork([&team] { team.CountTask(); });
}

}  // namespace

absl::StatusOr<DeviceCache> DeviceCache::Load(
    const FeatureStore& store, absl::Span<const GlobalId> hottest,
    const CudaStream& stream, ThreadTeam& team) {
  if (hottest.empty()) return DeviceCache();
  FGNN_RETURN_IF_ERROR(CheckNodes(hottest, store.num_rows()));
  const uint64_t bytes = hottest.size() * store.row_bytes();
  absl::StatusOr<DeviceArray<std::byte>> rows =
      DeviceArray<std::byte>::Make(bytes);
  if (rows.ok()) {
    const absl::Status filled = Fill(store, hottest, stream, team, rows->get());
    if (filled.ok()) return DeviceCache(*std::move(rows), hottest.size());
    rows = filled;
  }
  return Annotate(rows.status(), absl::StrCat("a cache of ", hottest.size(),
                                              " rows, ", FormatBytes(bytes)));
}

}  // namespace fgnn
