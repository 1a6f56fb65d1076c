#include "sampler_service/id_map/cpu/direct_id_map.h"

#include <algorithm>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace fgnn {
namespace {
// Number of lookups in flight. Between two calls the sampler's reads drive the
// table out of the near caches; this many lookups hide the time to memory.
constexpr size_t kPrefetchDistance = 128;

// Hides from the compiler that the value is 0 or 1. A compiler that knows it
// makes a branch of it, which is four times slower.
inline void HideFromCompiler(uint32_t* value) { asm("" : "+r"(*value)); }
}  // namespace

absl::StatusOr<std::unique_ptr<DirectIdMap>> DirectIdMap::Create(
    uint64_t num_nodes, uint64_t max_batch_nodes, uint32_t first_base) {
  if (num_nodes >= UINT32_MAX) {
    return absl::InvalidArgumentError(
        absl::StrCat("an id map of ", num_nodes, " vertices; ", UINT32_MAX - 1,
                     " are the most that it takes"));
  }
  std::unique_ptr<DirectIdMap> map(
      new DirectIdMap(num_nodes, max_batch_nodes, first_base));
  if (map->table_ == nullptr || map->nodes_ == nullptr) {
    return absl::ResourceExhaustedError(absl::StrCat(
        "no memory for an id map of ", num_nodes, " vertices: ",
        map->workspace_bytes(), " bytes; give sampling.threads fewer"));
  }
  return map;
}

DirectIdMap::DirectIdMap(uint64_t num_nodes, uint64_t max_batch_nodes,
                         uint32_t first_base)
    : num_nodes_(num_nodes),
      max_batch_nodes_(std::min(num_nodes, max_batch_nodes)),
      // The table's zeros are below every base.
      table_(AllocateTable<uint32_t>(num_nodes_)),
      nodes_(AllocateTable<GlobalId>(max_batch_nodes_ + 1)),
      base_(first_base) {}

void DirectIdMap::StartBatch() {
  const uint64_t next_base = uint64_t{base_} + num_mapped_;
  if (next_base + max_batch_nodes_ > UINT32_MAX) {
    std::fill_n(table_.get(), num_nodes_, uint32_t{0});
    base_ = 1;
  } else {
    base_ = static_cast<uint32_t>(next_base);
  }
  num_mapped_ = 0;
}

void DirectIdMap::MapInPlace(absl::Span<uint32_t> ids) {
  uint32_t* const table = table_.get();
  GlobalId* const nodes = nodes_.get();
  const uint32_t base = base_;
  uint32_t next = base + num_mapped_;
  const size_t size = ids.size();
  uint32_t* const id = ids.data();
  for (size_t i = 0; i < std::min(size, kPrefetchDistance); ++i) {
    __builtin_prefetch(&table[id[i]], 1);
  }
  // The processor cannot predict whether a vertex is new. Both outcomes are
  // therefore computed, and everything is written in any case.
  const auto map_one = [&](size_t i) __attribute__((always_inline)) {
    const GlobalId v = id[i];
    const uint32_t word = table[v];
    uint32_t is_new = word < base ? 1 : 0;
    HideFromCompiler(&is_new);
    const uint32_t mapped = word ^ ((word ^ next) & (0 - is_new));
    table[v] = mapped;
    nodes[next - base] = v;
    next += is_new;
    id[i] = mapped - base;
  };
  size_t i = 0;
  for (; i + kPrefetchDistance < size; ++i) {
    __builtin_prefetch(&table[id[i + kPrefetchDistance]], 1);
    map_one(i);
  }
  for (; i < size; ++i) map_one(i);
  num_mapped_ = next - base;
}

absl::Span<const GlobalId> DirectIdMap::nodes() const {
  return {nodes_.get(), num_mapped_};
}

uint64_t DirectIdMap::workspace_bytes() const {
  return num_nodes_ * sizeof(uint32_t) +
         (max_batch_nodes_ + 1) * sizeof(GlobalId);
}

}  // namespace fgnn
