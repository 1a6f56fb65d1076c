#include "tests/gpu/sample/id_map_figures.h"

#include <cuda_runtime_api.h>

#include <algorithm>
#include <bit>
#include <functional>
#include <vector>

#include "absl/strings/str_cat.h"
#include "sampler_service/id_map/cuda/cuda_id_map.h"
#include "sampler_service/id_map/cuda/map_list.h"
#include "shared/base/status.h"
#include "shared/device/cuda/device_array.h"
#include "shared/device/cuda/status.h"
#include "shared/device/cuda/stream.h"
#include "tests/gpu/sample/baselines.h"

namespace fgnn {
namespace {

constexpr int kRounds = 15;

// The ids that a batch maps, as global ids in their order.
std::vector<uint32_t> IdsOf(const TaskView& task) {
  std::vector<uint32_t> ids(task.seeds().begin(), task.seeds().end());
  for (int h = 0; h < task.num_hops; ++h) {
    for (const uint32_t local : task.hops[h].indices) {
      ids.push_back(task.input_nodes[local]);
    }
  }
  return ids;
}

// Arrays of both baselines and of Fused-Map.
struct Buffers {
  DeviceArray<uint32_t> ids, work, local_ids, nodes, num_nodes, keys, places,
      sorted_places, numbers, new_bits, table_full;
  DeviceArray<uint64_t> table, block_sums;
  DeviceArray<DeviceList> list;
  DeviceArray<std::byte> temporary;
};

absl::Status Allocate(uint64_t count, uint64_t num_nodes, uint32_t id_bits,
                      uint32_t num_blocks, Buffers* b) {
  for (DeviceArray<uint32_t>* array :
       {&b->ids, &b->work, &b->local_ids, &b->nodes, &b->keys, &b->places,
        &b->sorted_places, &b->numbers, &b->new_bits}) {
    FGNN_ASSIGN_OR_RETURN(*array, DeviceArray<uint32_t>::Make(count + 1));
  }
  FGNN_ASSIGN_OR_RETURN(b->num_nodes, DeviceArray<uint32_t>::Make(1));
  FGNN_ASSIGN_OR_RETURN(b->table_full, DeviceArray<uint32_t>::Make(1));
  FGNN_ASSIGN_OR_RETURN(
      b->table, DeviceArray<uint64_t>::Make(std::bit_ceil(2 * num_nodes)));
  FGNN_ASSIGN_OR_RETURN(b->block_sums, DeviceArray<uint64_t>::Make(num_blocks));
  FGNN_ASSIGN_OR_RETURN(b->list, DeviceArray<DeviceList>::Make(1));
  FGNN_ASSIGN_OR_RETURN(
      b->temporary, DeviceArray<std::byte>::Make(
                        BaselineBytes(static_cast<uint32_t>(count), id_bits)));
  return absl::OkStatus();
}

// Returns the median milliseconds of the device. `before` is not timed.
absl::StatusOr<double> Median(const CudaStream& stream,
                              const std::function<absl::Status()>& before,
                              const std::function<absl::Status()>& work) {
  FGNN_ASSIGN_OR_RETURN(CudaEvent start,
                        CudaEvent::Make(CudaEvent::Times::kYes));
  FGNN_ASSIGN_OR_RETURN(CudaEvent end, CudaEvent::Make(CudaEvent::Times::kYes));
  std::vector<double> times;
  for (int round = 0; round < kRounds; ++round) {
    FGNN_RETURN_IF_ERROR(before());
    FGNN_RETURN_IF_ERROR(start.Record(stream));
    FGNN_RETURN_IF_ERROR(work());
    FGNN_RETURN_IF_ERROR(end.Record(stream));
    FGNN_RETURN_IF_ERROR(end.Wait(DeadlineIn(std::chrono::seconds(30))));
    FGNN_ASSIGN_OR_RETURN(const float ms, end.MillisecondsSince(start));
    times.push_back(ms);
  }
  std::nth_element(times.begin(), times.begin() + kRounds / 2, times.end());
  return times[kRounds / 2];
}

absl::Status CopyIn(void* to, const void* from, uint64_t bytes,
                    const CudaStream& stream) {
  return CudaStatus(
      cudaMemcpyAsync(to, from, bytes, cudaMemcpyDefault, stream.get()),
      "copy");
}

absl::StatusOr<double> FusedMap(const Buffers& b, uint64_t count,
                                uint64_t num_nodes, uint32_t num_blocks,
                                const CudaStream& stream) {
  FGNN_ASSIGN_OR_RETURN(
      CudaIdMap id_map,
      CudaIdMap::Make({.max_nodes = num_nodes, .first_room = num_nodes}));
  DeviceList start = {};
  start.end = static_cast<uint32_t>(count);
  DeviceIdMap map = {};
  const auto before = [&]() -> absl::Status {
    FGNN_RETURN_IF_ERROR(CopyIn(b.work.get(), b.ids.get(), count * 4, stream));
    FGNN_RETURN_IF_ERROR(CopyIn(b.list.get(), &start, sizeof(start), stream));
    FGNN_ASSIGN_OR_RETURN(map,
                          id_map.StartBatch(count, b.table_full.get(), stream));
    id_map.EndBatch(static_cast<uint32_t>(num_nodes));
    return absl::OkStatus();
  };
  return Median(stream, before, [&]() -> absl::Status {
    const MapListArgs list = {.map = map,
                              .list = b.list.get(),
                              .ids = b.work.get(),
                              .new_bits = b.new_bits.get(),
                              .block_sums = b.block_sums.get(),
                              .num_blocks = num_blocks};
    FGNN_RETURN_IF_ERROR(CudaStatus(LaunchEnter(list, stream.get()), "enter"));
    FGNN_RETURN_IF_ERROR(
        CudaStatus(LaunchNumber(list, stream.get()), "number"));
    return CudaStatus(LaunchTranslate({.map = map,
                                       .num_lists = 1,
                                       .lists = {b.list.get()},
                                       .ids = {b.work.get()},
                                       .num_blocks = num_blocks},
                                      stream.get()),
                      "translate");
  });
}

}  // namespace

absl::Status PrintIdMaps(const std::string& name, const TaskView& task,
                         uint32_t num_blocks, Report* report) {
  const std::vector<uint32_t> ids = IdsOf(task);
  const uint64_t num_nodes = task.input_nodes.size();
  FGNN_ASSIGN_OR_RETURN(const CudaStream stream, CudaStream::Make());
  const auto id_bits = static_cast<uint32_t>(
      std::bit_width(*std::max_element(ids.begin(), ids.end())));
  Buffers b;
  FGNN_RETURN_IF_ERROR(
      Allocate(ids.size(), num_nodes, id_bits, num_blocks, &b));
  FGNN_RETURN_IF_ERROR(CopyIn(b.ids.get(), ids.data(), ids.size() * 4, stream));
  const BaselineArgs args = {.ids = b.ids.get(),
                             .local_ids = b.local_ids.get(),
                             .nodes = b.nodes.get(),
                             .num_nodes = b.num_nodes.get(),
                             .count = static_cast<uint32_t>(ids.size()),
                             .id_bits = id_bits,
                             .keys = b.keys.get(),
                             .places = b.places.get(),
                             .sorted_places = b.sorted_places.get(),
                             .numbers = b.numbers.get(),
                             .table = b.table.get(),
                             .table_size = b.table.size(),
                             .temporary = b.temporary.get(),
                             .temporary_bytes = b.temporary.size(),
                             .num_blocks = num_blocks};
  const auto nothing = [] { return absl::OkStatus(); };
  FGNN_ASSIGN_OR_RETURN(const double fused,
                        FusedMap(b, ids.size(), num_nodes, num_blocks, stream));
  const auto print = [&](const std::string& what, double ms, uint32_t found) {
    report->Figure(absl::StrCat(name, ": ", what), ms, "ms",
                   absl::StrCat(Report::Number(ms / fused),
                                " times Fused-Map, which keeps the order; at "
                                "least 2"));
    if (found != num_nodes) {
      report->Fail(what, absl::StrCat(found, " vertices, not ", num_nodes));
    }
  };
  const auto num_found = [&]() -> absl::StatusOr<uint32_t> {
    uint32_t found = 0;
    FGNN_RETURN_IF_ERROR(CopyIn(&found, b.num_nodes.get(), 4, stream));
    FGNN_RETURN_IF_ERROR(
        CudaStatus(cudaStreamSynchronize(stream.get()), "wait"));
    return found;
  };
  report->Figure(absl::StrCat(name, ": Fused-Map, 4 kernels"), fused, "ms",
                 absl::StrCat("compared below; ", ids.size(), " ids, ",
                              num_nodes, " vertices"));
  FGNN_ASSIGN_OR_RETURN(const double sorted, Median(stream, nothing, [&] {
                          return CudaStatus(LaunchSortMap(args, stream.get()),
                                            "sort");
                        }));
  FGNN_ASSIGN_OR_RETURN(uint32_t found, num_found());
  print(absl::StrCat("radix sort of ", id_bits, " bits and unique"), sorted,
        found);
  FGNN_ASSIGN_OR_RETURN(
      const double two_pass, Median(stream, nothing, [&] {
        return CudaStatus(LaunchTwoPassMap(args, stream.get()), "two passes");
      }));
  FGNN_ASSIGN_OR_RETURN(found, num_found());
  print("table with a clear and a second search", two_pass, found);
  return absl::OkStatus();
}

}  // namespace fgnn
