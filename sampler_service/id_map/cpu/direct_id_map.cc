#include "sampler_service/id_map/cpu/direct_id_map.h"

#include <algorithm>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace fgnn {
namespace {
// A table of 8 MB and more misses the caches; this many lookups in flight
// hide the time to memory.
constexpr size_t kPrefetchDistance = 32;
}  // namespace

absl::StatusOr<std::unique_ptr<DirectIdMap>> DirectIdMap::Create(
    uint64_t num_nodes, uint64_t max_batch_nodes, uint32_t first_stamp) {
  std::unique_ptr<DirectIdMap> map(
      new DirectIdMap(num_nodes, max_batch_nodes, first_stamp));
  if (map->table_ == nullptr || map->nodes_ == nullptr) {
    return absl::ResourceExhaustedError(absl::StrCat(
        "no memory for an id map of ", num_nodes, " vertices: ",
        map->workspace_bytes(), " bytes; give sampling.threads fewer"));
  }
  return map;
}

DirectIdMap::DirectIdMap(uint64_t num_nodes, uint64_t max_batch_nodes,
                         uint32_t first_stamp)
    : num_nodes_(num_nodes),
      max_batch_nodes_(std::min(num_nodes, max_batch_nodes)),
      // calloc's zeros are a stamp that no batch has, and take no page before
      // they are touched.
      table_(static_cast<uint64_t*>(std::calloc(num_nodes_, sizeof(uint64_t)))),
      nodes_(static_cast<GlobalId*>(
          std::calloc(max_batch_nodes_ + 1, sizeof(GlobalId)))),
      stamp_(first_stamp - 1) {}

void DirectIdMap::StartBatch() {
  num_mapped_ = 0;
  if (++stamp_ == 0) {
    std::fill_n(table_.get(), num_nodes_, uint64_t{0});
    stamp_ = 1;
  }
}

void DirectIdMap::MapInPlace(absl::Span<uint32_t> ids) {
  uint64_t* const table = table_.get();
  GlobalId* const nodes = nodes_.get();
  const uint64_t stamp = stamp_;
  uint64_t next = num_mapped_;
  const size_t size = ids.size();
  uint32_t* const id = ids.data();
  for (size_t i = 0; i < std::min(size, kPrefetchDistance); ++i) {
    __builtin_prefetch(&table[id[i]], 1);
  }
  // Whether a vertex is new is a coin toss that no branch predictor wins, so
  // both outcomes are computed and everything is written in any case.
  const auto map_one = [&](size_t i) {
    const GlobalId v = id[i];
    const uint64_t entry = table[v];
    const bool is_new = (entry >> 32) != stamp;
    const uint64_t local = is_new ? next : (entry & UINT32_MAX);
    table[v] = stamp << 32 | local;
    nodes[next] = v;
    next += is_new ? 1 : 0;
    id[i] = static_cast<LocalId>(local);
  };
  size_t i = 0;
  for (; i + kPrefetchDistance < size; ++i) {
    __builtin_prefetch(&table[id[i + kPrefetchDistance]], 1);
    map_one(i);
  }
  for (; i < size; ++i) map_one(i);
  num_mapped_ = static_cast<uint32_t>(next);
}

absl::Span<const GlobalId> DirectIdMap::nodes() const {
  return {nodes_.get(), num_mapped_};
}

uint64_t DirectIdMap::workspace_bytes() const {
  return num_nodes_ * sizeof(uint64_t) +
         (max_batch_nodes_ + 1) * sizeof(GlobalId);
}

}  // namespace fgnn
