#include "shared/graph/rank_order.h"

#include <algorithm>
#include <cstring>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "shared/base/crc32c.h"
#include "shared/base/hash.h"
#include "shared/base/status.h"

namespace fgnn {
namespace {

namespace fs = std::filesystem;

constexpr uint64_t kRankOrderMagic = 0x3154'4f48'4e4e'4746;  // "FGNNHOT1"

// vertices [num_nodes] u32 follow, then ranks [num_nodes] u32.
struct alignas(64) FileHeader {
  uint64_t magic;
  uint64_t key;
  uint64_t num_nodes;
  uint32_t vertices_crc;
  uint32_t ranks_crc;
};

// Returns the prefix of the names of this state's files.
std::string PrefixOf(const Dataset& dataset) {
  return absl::StrCat("ranks-",
                      absl::Hex(dataset.Fingerprint(), absl::kZeroPad16), "-");
}

std::string_view BytesOf(absl::Span<const uint32_t> values) {
  return {reinterpret_cast<const char*>(values.data()),
          values.size() * sizeof(uint32_t)};
}

uint32_t CrcOf(absl::Span<const uint32_t> values) {
  return ExtendCrc32c(0, values.data(), values.size() * sizeof(uint32_t));
}

// Returns true if the two are a permutation of all vertices and its inverse. If
// ranks[vertices[r]] is r for every r, no vertex is there twice. The reads are
// in random order: prefetching reduces their time to a third.
bool AreInverse(absl::Span<const GlobalId> vertices,
                absl::Span<const uint32_t> ranks) {
  constexpr size_t kAhead = 32;
  const size_t count = vertices.size();
  for (size_t rank = 0; rank < count; ++rank) {
    if (rank + kAhead < count && vertices[rank + kAhead] < count) {
      __builtin_prefetch(&ranks[vertices[rank + kAhead]]);
    }
    const GlobalId v = vertices[rank];
    if (v >= count || ranks[v] != rank) return false;
  }
  return true;
}

std::string NameOf(const Dataset& dataset, uint64_t key) {
  return absl::StrCat(PrefixOf(dataset), absl::Hex(key, absl::kZeroPad16),
                      ".bin");
}

}  // namespace

fs::path RankOrder::PathOf(const Dataset& dataset, uint64_t key) {
  return dataset.folder() / "derived" / NameOf(dataset, key);
}

absl::Status RankOrder::Save(const Dataset& dataset, uint64_t key,
                             absl::Span<const GlobalId> vertices) {
  const uint64_t num_nodes = dataset.num_nodes();
  std::vector<uint32_t> ranks(num_nodes, UINT32_MAX);
  bool is_order = vertices.size() == num_nodes;
  for (uint64_t rank = 0; is_order && rank < num_nodes; ++rank) {
    const GlobalId v = vertices[rank];
    is_order = v < num_nodes && ranks[v] == UINT32_MAX;
    if (is_order) ranks[v] = static_cast<uint32_t>(rank);
  }
  if (!is_order) {
    return absl::InvalidArgumentError(
        absl::StrCat("a rank order of ", vertices.size(), " ids is not one of ",
                     num_nodes, " vertices, once each"));
  }
  const FileHeader header = {.magic = kRankOrderMagic,
                             .key = key,
                             .num_nodes = num_nodes,
                             .vertices_crc = CrcOf(vertices),
                             .ranks_crc = CrcOf(ranks)};
  const DerivedFiles& files = dataset.derived();
  FGNN_RETURN_IF_ERROR(
      files.Keep(NameOf(dataset, key),
                 {{reinterpret_cast<const char*>(&header), sizeof(header)},
                  BytesOf(vertices),
                  BytesOf(ranks)}));
  // No job reads an order of another state again.
  files.RemoveOthers("ranks-", PrefixOf(dataset));
  return absl::OkStatus();
}

absl::StatusOr<RankOrder> RankOrder::Open(const Dataset& dataset,
                                          uint64_t key) {
  absl::Status status;
  for (const DerivedPlace place : kDerivedPlaces) {
    absl::StatusOr<MappedFile> file =
        dataset.derived().Map(place, NameOf(dataset, key));
    absl::StatusOr<RankOrder> order =
        file.ok() ? Read(dataset, key, *std::move(file)) : file.status();
    if (order.ok()) return order;
    // Damage says more than a file that is not there.
    if (status.ok() || absl::IsNotFound(status)) status = order.status();
  }
  // What another user may have written is as if it were not there.
  if (absl::IsDataLoss(status)) return status;
  return absl::NotFoundError(MessageOf(status));
}

absl::StatusOr<RankOrder> RankOrder::Read(const Dataset& dataset, uint64_t key,
                                          MappedFile file) {
  const uint64_t num_nodes = dataset.num_nodes();
  const uint64_t array_bytes = num_nodes * sizeof(uint32_t);
  FileHeader header = {};
  const bool is_whole = file.bytes().size() == sizeof(header) + 2 * array_bytes;
  if (is_whole) std::memcpy(&header, file.bytes().data(), sizeof(header));
  RankOrder order;
  order.file_ = std::move(file);
  if (header.magic == kRankOrderMagic && header.key == key &&
      header.num_nodes == num_nodes) {
    const auto* const arrays = reinterpret_cast<const uint32_t*>(
        order.file_.bytes().data() + sizeof(header));
    order.vertices_ = {arrays, num_nodes};
    order.ranks_ = {arrays + num_nodes, num_nodes};
    order.version_ = std::max(
        static_cast<uint32_t>(Mix64(key ^ uint64_t{header.vertices_crc} << 32)),
        1u);
    if (CrcOf(order.vertices_) == header.vertices_crc &&
        CrcOf(order.ranks_) == header.ranks_crc &&
        AreInverse(order.vertices_, order.ranks_)) {
      return order;
    }
  }
  return absl::DataLossError(
      absl::StrCat(PathOf(dataset, key).string(),
                   " is damaged; remove it, and it is made again"));
}

}  // namespace fgnn
