#include "sampler_service/id_map/cpu/hash_id_map.h"

#include <algorithm>
#include <bit>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace fgnn {
namespace {
constexpr uint64_t kFewestEntries = 1 << 6;
// Number of ids between two checks of how full the table is.
constexpr uint64_t kChunk = 1 << 12;
// Entries in use per vertex, as long as the table has that many.
constexpr uint64_t kEntriesPerNode = 4;
// Number of lookups in flight, as in DirectIdMap.
constexpr size_t kPrefetchDistance = 128;

// Hides from the compiler that the value is 0 or 1. A compiler that knows it
// makes a branch of it.
inline void HideFromCompiler(uint32_t* value) { asm("" : "+r"(*value)); }

// 2^64 / golden ratio: neighbouring ids come apart (Fibonacci hashing).
inline uint64_t PlaceOf(GlobalId v, int shift) {
  return (v * uint64_t{0x9e3779b97f4a7c15u}) >> shift;
}

inline uint32_t StampOf(uint64_t entry) {
  return static_cast<uint32_t>(entry >> 32);
}
inline uint64_t MakeEntry(GlobalId v, uint32_t stamp) {
  return uint64_t{stamp} << 32 | v;
}

// Returns 1 if the entry belongs to another vertex of this batch, else 0. Each
// of the two conditions alone is frequent, but both together are rare. Only the
// branch on both together can be predicted.
inline uint32_t IsTaken(uint64_t entry, uint32_t base, GlobalId v) {
  uint32_t is_current = StampOf(entry) >= base ? 1 : 0;
  uint32_t is_other = static_cast<uint32_t>(entry) != v ? 1 : 0;
  HideFromCompiler(&is_current);
  HideFromCompiler(&is_other);
  return is_current & is_other;
}

uint64_t NumEntries(uint64_t num_nodes, uint64_t max_batch_nodes) {
  return std::max(kFewestEntries,
                  std::bit_ceil(2 * std::min(num_nodes, max_batch_nodes)));
}
}  // namespace

uint64_t HashIdMap::TableBytes(uint64_t num_nodes, uint64_t max_batch_nodes) {
  return NumEntries(num_nodes, max_batch_nodes) * sizeof(uint64_t);
}

absl::StatusOr<std::unique_ptr<HashIdMap>> HashIdMap::Create(
    uint64_t num_nodes, uint64_t max_batch_nodes, uint32_t first_base) {
  if (num_nodes >= UINT32_MAX) {
    return absl::InvalidArgumentError(
        absl::StrCat("an id map of ", num_nodes, " vertices; ", UINT32_MAX - 1,
                     " are the most that it takes"));
  }
  std::unique_ptr<HashIdMap> map(
      new HashIdMap(std::min(num_nodes, max_batch_nodes), first_base));
  if (map->table_ == nullptr || map->nodes_ == nullptr) {
    return absl::ResourceExhaustedError(
        absl::StrCat("no memory for an id map of ", map->max_batch_nodes_,
                     " vertices a batch: ", map->workspace_bytes(),
                     " bytes; lower sampling.batch_size or sampling.fanouts"));
  }
  return map;
}

HashIdMap::HashIdMap(uint64_t max_batch_nodes, uint32_t first_base)
    : max_batch_nodes_(max_batch_nodes),
      num_entries_(NumEntries(max_batch_nodes, max_batch_nodes)),
      // The table's zeros are below every base.
      table_(AllocateTable<uint64_t>(num_entries_)),
      nodes_(AllocateTable<GlobalId>(max_batch_nodes_ + 1)),
      base_(first_base),
      shift_(64 - std::countr_zero(kFewestEntries)) {}

void HashIdMap::RaiseBase() {
  const uint64_t next_base = uint64_t{base_} + num_mapped_;
  if (next_base + max_batch_nodes_ > UINT32_MAX) {
    std::fill_n(table_.get(), num_in_use(), uint64_t{0});
    base_ = 1;
  } else {
    base_ = static_cast<uint32_t>(next_base);
  }
}

void HashIdMap::StartBatch() {
  RaiseBase();
  num_mapped_ = 0;
}

void HashIdMap::Enter(GlobalId v, uint32_t stamp) {
  const uint64_t mask = num_in_use() - 1;
  uint64_t at = PlaceOf(v, shift_);
  while (StampOf(table_[at]) >= base_) at = (at + 1) & mask;
  table_[at] = MakeEntry(v, stamp);
}

void HashIdMap::MakeRoom(uint64_t count) {
  const uint64_t wanted = kEntriesPerNode * (num_mapped_ + count);
  if (wanted <= num_in_use() || num_in_use() == num_entries_) return;
  RaiseBase();
  const uint64_t in_use = std::min(std::bit_ceil(wanted), num_entries_);
  shift_ = 64 - std::countr_zero(in_use);
  for (uint32_t i = 0; i < num_mapped_; ++i) Enter(nodes_[i], base_ + i);
}

void HashIdMap::MapInPlace(absl::Span<uint32_t> ids) {
  while (!ids.empty()) {
    const absl::Span<uint32_t> chunk = ids.subspan(0, kChunk);
    MakeRoom(chunk.size());
    MapChunk(chunk);
    ids.remove_prefix(chunk.size());
  }
}

void HashIdMap::MapChunk(absl::Span<uint32_t> ids) {
  uint64_t* const table = table_.get();
  GlobalId* const nodes = nodes_.get();
  const uint64_t mask = num_in_use() - 1;
  const int shift = shift_;
  const uint32_t base = base_;
  uint32_t next = base + num_mapped_;
  const size_t size = ids.size();
  uint32_t* const id = ids.data();
  // Entries where the lookups in flight begin: the entry of id i is at i mod
  // kPrefetchDistance.
  uint64_t places[kPrefetchDistance];
  const auto begin_lookup = [&](size_t i) __attribute__((always_inline)) {
    const uint64_t at = PlaceOf(id[i], shift);
    places[i % kPrefetchDistance] = at;
    __builtin_prefetch(&table[at], 1);
  };
  // The only branch that depends on data is whether the entry is another
  // vertex's. The processor cannot predict whether the vertex is new: both
  // outcomes are computed, and everything is written in any case.
  const auto end_lookup = [&](size_t i) __attribute__((always_inline)) {
    const GlobalId v = id[i];
    uint64_t at = places[i % kPrefetchDistance];
    uint64_t entry = table[at];
    while (IsTaken(entry, base, v) != 0) {
      at = (at + 1) & mask;
      entry = table[at];
    }
    const uint32_t stamp = StampOf(entry);
    uint32_t is_new = stamp < base ? 1 : 0;
    HideFromCompiler(&is_new);
    const uint32_t mapped = stamp ^ ((stamp ^ next) & (0 - is_new));
    table[at] = MakeEntry(v, mapped);
    nodes[next - base] = v;
    next += is_new;
    id[i] = mapped - base;
  };
  for (size_t i = 0; i < std::min(size, kPrefetchDistance); ++i) {
    begin_lookup(i);
  }
  size_t i = 0;
  for (; i + kPrefetchDistance < size; ++i) {
    end_lookup(i);
    begin_lookup(i + kPrefetchDistance);
  }
  for (; i < size; ++i) end_lookup(i);
  num_mapped_ = next - base;
}

absl::Span<const GlobalId> HashIdMap::nodes() const {
  return {nodes_.get(), num_mapped_};
}

uint64_t HashIdMap::workspace_bytes() const {
  return num_entries_ * sizeof(uint64_t) +
         (max_batch_nodes_ + 1) * sizeof(GlobalId);
}

}  // namespace fgnn
