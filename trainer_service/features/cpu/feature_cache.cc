#include "trainer_service/features/cpu/feature_cache.h"

#include <array>
#include <atomic>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "shared/base/status.h"
#include "shared/base/units.h"
#include "shared/device/memory.h"
#include "trainer_service/compute/gather_rows.h"
#include "trainer_service/compute/widen.h"

namespace fgnn {
namespace {

absl::Status CheckRanks(absl::Span<const GlobalId> nodes,
                        absl::Span<const uint32_t> ranks) {
  if (ranks.size() == nodes.size()) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      nodes.size(), " input nodes, but ", ranks.size(), " hot ranks"));
}

}  // namespace

absl::StatusOr<FeatureCache> FeatureCache::Load(
    const FeatureStore* store, absl::Span<const GlobalId> hottest,
    ThreadTeam& team) {
  FGNN_RETURN_IF_ERROR(CheckNodes(hottest, store->num_rows()));
  FeatureCache cache(store);
  const uint64_t row_bytes = store->row_bytes();
  TableMemory<std::byte> rows = AllocateTableBytes(hottest.size() * row_bytes);
  std::byte* const first_row = rows.get();
  const FreeTable free_table = rows.get_deleter();
  cache.rows_ = {rows.release(),
                 [free_table](std::byte* memory) { free_table(memory); }};
  if (first_row == nullptr && !hottest.empty()) {
    return absl::ResourceExhaustedError(absl::StrCat(
        "no memory for a cache of ", hottest.size(), " rows, ",
        FormatBytes(hottest.size() * row_bytes), "; lower cache.capacity"));
  }
  FGNN_RETURN_IF_ERROR(store->LoadStoredRows(hottest, first_row, team));
  cache.capacity_ = hottest.size();
  return cache;
}

absl::StatusOr<uint64_t> FeatureCache::Extract(
    absl::Span<const GlobalId> nodes, absl::Span<const uint32_t> ranks,
    float* out, ThreadTeam& team, const MatchedRows& matched) const {
  if (!matched.places.empty()) {
    return ExtractMatched(nodes, ranks, out, team, matched);
  }
  if (capacity_ == 0 || ranks.empty()) {
    FGNN_RETURN_IF_ERROR(store_->Extract(nodes, out, team));
    return 0;
  }
  FGNN_RETURN_IF_ERROR(CheckNodes(nodes, store_->num_rows()));
  FGNN_RETURN_IF_ERROR(CheckRanks(nodes, ranks));
  if (store_->data() != nullptr) {
    return ExtractFromMemory(nodes, ranks, out, team);
  }
  std::atomic<uint64_t> num_hits = 0;
  FGNN_RETURN_IF_ERROR(store_->ExtractMisses(
      {nodes, ranks, capacity_}, out, team, [&](size_t first, size_t last) {
        num_hits += CopyHits(ranks.subspan(first, last - first),
                             out + first * store_->num_columns());
      }));
  return num_hits.load();
}

absl::StatusOr<uint64_t> FeatureCache::ExtractMatched(
    absl::Span<const GlobalId> nodes, absl::Span<const uint32_t> ranks,
    float* out, ThreadTeam& team, const MatchedRows& matched) const {
  FGNN_RETURN_IF_ERROR(CheckNodes(nodes, store_->num_rows()));
  const bool may_hit = capacity_ > 0 && !ranks.empty();
  if (may_hit) FGNN_RETURN_IF_ERROR(CheckRanks(nodes, ranks));
  const uint64_t columns = store_->num_columns();
  std::atomic<uint64_t> num_hits = 0;
  // A place takes the part of a rank: what is kept nowhere is loaded.
  const BatchMisses loaded = {nodes, matched.places, kNotKept};
  FGNN_RETURN_IF_ERROR(
      store_->ExtractMisses(loaded, out, team, [&](size_t first, size_t last) {
        if (may_hit) {
          num_hits += CopyHits(ranks.subspan(first, last - first),
                               out + first * columns);
        }
        for (size_t i = first; i < last; ++i) {
          const bool is_hit = may_hit && ranks[i] < capacity_;
          if (is_hit || loaded.Has(i)) continue;
          std::memcpy(out + i * columns, matched.At(matched.places[i], columns),
                      columns * sizeof(float));
        }
      }));
  return num_hits.load();
}

absl::StatusOr<uint64_t> FeatureCache::Find(absl::Span<const GlobalId> nodes,
                                            absl::Span<const uint32_t> ranks,
                                            const std::byte** rows) const {
  FGNN_RETURN_IF_ERROR(CheckNodes(nodes, store_->num_rows()));
  if (capacity_ > 0 && !ranks.empty()) {
    FGNN_RETURN_IF_ERROR(CheckRanks(nodes, ranks));
    return FindRows(nodes, ranks, rows);
  }
  const uint64_t row_bytes = store_->row_bytes();
  for (size_t i = 0; i < nodes.size(); ++i) {
    rows[i] = store_->data() + nodes[i] * row_bytes;
  }
  return 0;
}

uint64_t FeatureCache::CopyHits(absl::Span<const uint32_t> ranks,
                                float* out) const {
  const uint64_t columns = store_->num_columns();
  const uint64_t row_bytes = store_->row_bytes();
  uint64_t hits = 0;
  for (size_t i = 0; i < ranks.size(); ++i) {
    if (ranks[i] >= capacity_) continue;
    WidenToFloats(store_->type(), rows_.get() + ranks[i] * row_bytes, columns,
                  out + i * columns);
    ++hits;
  }
  return hits;
}

uint64_t FeatureCache::FindRows(absl::Span<const GlobalId> nodes,
                                absl::Span<const uint32_t> ranks,
                                const std::byte** rows) const {
  const uint64_t row_bytes = store_->row_bytes();
  const uint64_t capacity = capacity_;
  const auto table = reinterpret_cast<uintptr_t>(rows_.get());
  const auto all = reinterpret_cast<uintptr_t>(store_->data());
  const uint32_t* const rank_of = ranks.data();
  const GlobalId* const node_of = nodes.data();
  uint64_t hits = 0;
  for (size_t i = 0; i < nodes.size(); ++i) {
    const uint64_t is_cached = rank_of[i] < capacity ? 1 : 0;
    const uint64_t mask = 0 - is_cached;
    const uint64_t place = (rank_of[i] & mask) | (node_of[i] & ~mask);
    const uintptr_t base = (table & mask) | (all & ~mask);
    rows[i] = reinterpret_cast<const std::byte*>(base + place * row_bytes);
    hits += is_cached;
  }
  return hits;
}

absl::StatusOr<uint64_t> FeatureCache::ExtractFromMemory(
    absl::Span<const GlobalId> nodes, absl::Span<const uint32_t> ranks,
    float* out, ThreadTeam& team) const {
  const uint64_t columns = store_->num_columns();
  std::atomic<uint64_t> num_hits = 0;
  FGNN_RETURN_IF_ERROR(team.Run(
      NumTasks(static_cast<int64_t>(nodes.size()), kExtractedRowsPerTask),
      [&](int64_t task, int) {
        const uint64_t first =
            static_cast<uint64_t>(task) * kExtractedRowsPerTask;
        std::array<const std::byte*, kExtractedRowsPerTask> rows;
        const auto task_nodes = nodes.subspan(first, kExtractedRowsPerTask);
        const uint64_t hits =
            FindRows(task_nodes, ranks.subspan(first, kExtractedRowsPerTask),
                     rows.data());
        GatherRows(
            store_->type(), columns, task_nodes.size(),
            [&](size_t i) { return rows[i]; }, out + first * columns);
        num_hits += hits;
      }));
  return num_hits.load();
}

}  // namespace fgnn
