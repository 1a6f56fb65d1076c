// The order and alignment of the arrays of a task. The writer, the reader and
// the bounds share it, so that they cannot disagree.
#ifndef FGNN_SHARED_MINIBATCH_TASK_LAYOUT_H_
#define FGNN_SHARED_MINIBATCH_TASK_LAYOUT_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>

#include "shared/base/crc32c.h"
#include "shared/minibatch/task.h"

namespace fgnn::task_layout {

inline constexpr uint64_t kAlignmentBytes = 64;
inline constexpr uint64_t kMaxBytes = std::numeric_limits<uint64_t>::max();

// Bytes of the header that its checksum covers: all but the padding, whose
// value C++ does not define.
inline constexpr size_t kChecksummedHeaderBytes =
    offsetof(TaskHeader, hops) + sizeof(TaskHeader::hops);

// Sums and products that stay at 2^64 - 1 instead of wrapping.
constexpr uint64_t SaturatingAdd(uint64_t a, uint64_t b) {
  return a > kMaxBytes - b ? kMaxBytes : a + b;
}
constexpr uint64_t SaturatingMultiply(uint64_t a, uint64_t b) {
  return b != 0 && a > kMaxBytes / b ? kMaxBytes : a * b;
}

// Returns the next multiple of kAlignmentBytes, saturating.
constexpr uint64_t Align(uint64_t bytes) {
  const uint64_t padded = SaturatingAdd(bytes, kAlignmentBytes - 1);
  return padded == kMaxBytes ? kMaxBytes : padded & ~(kAlignmentBytes - 1);
}

// Returns the end of an array of `count` elements behind `end` bytes of task.
constexpr uint64_t EndAfter(uint64_t end, uint64_t count,
                            uint64_t element_bytes) {
  return SaturatingAdd(Align(end), SaturatingMultiply(count, element_bytes));
}

// Places of the arrays of a part's split section.
struct SplitPlaces {
  struct Level {
    uint64_t counts = 0;
    uint64_t send = 0;
    uint64_t remote_nodes = 0;  // 0 for the last level.
  };
  std::array<Level, kMaxHops> levels;
  uint64_t canonical = 0;
  uint64_t end = 0;  // End of the section, saturating.
};

// Returns the number of remote sources of a hop; 0 where the numbers are wrong.
constexpr uint32_t NumRemote(const TaskHop& hop) {
  return hop.num_sources < hop.num_own_sources
             ? 0
             : hop.num_sources - hop.num_own_sources;
}

// Returns the places that follow from the numbers of a header, if the section
// begins at `offset`. num_hops is at most kMaxHops.
constexpr SplitPlaces PlacesOfSplit(const TaskHeader& header, uint64_t offset) {
  SplitPlaces places;
  places.end = offset;
  const auto place = [&places](uint64_t count) {
    const uint64_t at = Align(places.end);
    places.end = EndAfter(places.end, count, sizeof(uint32_t));
    return at;
  };
  const uint64_t num_counts = uint64_t{header.num_parts} * header.num_parts;
  for (uint32_t h = 0; h < header.num_hops; ++h) {
    places.levels[h].counts = place(num_counts);
    places.levels[h].send = place(header.hops[h].num_sent);
    if (h + 1 < header.num_hops) {
      places.levels[h].remote_nodes = place(NumRemote(header.hops[h]));
    } else {
      places.canonical = place(header.hops[h].num_own_sources);
    }
  }
  return places;
}

// Returns the checksum of a header. The value of its header_crc does not
// matter.
inline uint32_t HeaderCrc(const TaskHeader& header) {
  TaskHeader copy = header;
  copy.header_crc = 0;
  return ExtendCrc32c(0, &copy, kChecksummedHeaderBytes);
}

// Checksums of the arrays, whose places must lie within the block at `base`.
// Digest() covers the batch itself (TaskHeader::digest), RanksCrc() the hot
// ranks, SplitCrc() the split section.
inline uint32_t Digest(const TaskHeader& header, const std::byte* base) {
  uint32_t crc = 0;
  if (header.pairs_offset != 0) {
    crc = ExtendCrc32c(crc, base + header.pairs_offset,
                       size_t{header.num_pairs} * 2 * sizeof(uint32_t));
  }
  for (uint32_t h = 0; h < header.num_hops; ++h) {
    const TaskHop& hop = header.hops[h];
    crc = ExtendCrc32c(crc, base + hop.indptr_offset,
                       (size_t{hop.num_destinations} + 1) * sizeof(uint32_t));
    crc = ExtendCrc32c(crc, base + hop.indices_offset,
                       hop.num_edges * sizeof(uint32_t));
    if (hop.weights_offset != 0) {
      crc = ExtendCrc32c(crc, base + hop.weights_offset,
                         hop.num_edges * sizeof(float));
    }
  }
  return ExtendCrc32c(crc, base + header.input_nodes_offset,
                      size_t{header.num_input_nodes} * sizeof(uint32_t));
}

inline uint32_t RanksCrc(const TaskHeader& header, const std::byte* base) {
  if (header.hot_rank_offset == 0) return 0;
  return ExtendCrc32c(0, base + header.hot_rank_offset,
                      size_t{header.num_input_nodes} * sizeof(uint32_t));
}

inline uint32_t SplitCrc(const TaskHeader& header, const std::byte* base) {
  if (header.split_offset == 0) return 0;
  const SplitPlaces places = PlacesOfSplit(header, header.split_offset);
  uint32_t crc = 0;
  const auto extend = [&](uint64_t offset, uint64_t count) {
    crc = ExtendCrc32c(crc, base + offset, count * sizeof(uint32_t));
  };
  for (uint32_t h = 0; h < header.num_hops; ++h) {
    const SplitPlaces::Level& level = places.levels[h];
    extend(level.counts, uint64_t{header.num_parts} * header.num_parts);
    extend(level.send, header.hops[h].num_sent);
    if (h + 1 < header.num_hops) {
      extend(level.remote_nodes, NumRemote(header.hops[h]));
    } else {
      extend(places.canonical, header.hops[h].num_own_sources);
    }
  }
  return crc;
}

}  // namespace fgnn::task_layout

#endif  // FGNN_SHARED_MINIBATCH_TASK_LAYOUT_H_
