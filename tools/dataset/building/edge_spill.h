// Files for edges on their way to their destination's bucket: a log in the
// order of arrival, and a file of buckets. Private to csc_builder.cc.
#ifndef FGNN_TOOLS_DATASET_BUILDING_EDGE_SPILL_H_
#define FGNN_TOOLS_DATASET_BUILDING_EDGE_SPILL_H_

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "shared/base/files/unique_fd.h"
#include "shared/base/types.h"

namespace fgnn {

struct PlainEdge {
  GlobalId source;
  GlobalId destination;
};

struct WeightedEdge {
  GlobalId source;
  GlobalId destination;
  float weight;
};

// A temporary file, which the destructor removes. Errors name it; a full disk
// is ResourceExhausted. Reads and writes at different offsets may be
// concurrent.
class SpillFile {
 public:
  static absl::StatusOr<SpillFile> Create(const std::filesystem::path& path);
  SpillFile() = default;
  SpillFile(SpillFile&& other) noexcept = default;
  SpillFile& operator=(SpillFile&& other) noexcept;
  ~SpillFile();

  absl::Status Write(const void* data, size_t bytes, uint64_t offset) const;
  absl::Status Read(void* data, size_t bytes, uint64_t offset) const;

 private:
  std::filesystem::path path_;
  UniqueFd fd_;
};

// Counts how many edges end in each range of destinations. The ranges double in
// width whenever an id lies beyond them, so the number of vertices need not be
// known.
class DestinationHistogram {
 public:
  void Add(GlobalId destination) {
    while ((uint64_t{destination} >> shift_) >= kBins) Widen();
    ++counts_[destination >> shift_];
  }
  // Makes the bins cover [0, num_nodes).
  void Cover(uint64_t num_nodes) {
    while (((num_nodes - 1) >> shift_) >= kBins) Widen();
  }
  // Makes the bins at least as wide as those of `other`.
  void Match(const DestinationHistogram& other) {
    while (shift_ < other.shift_) Widen();
  }
  uint64_t bin_width() const { return uint64_t{1} << shift_; }
  absl::Span<const uint64_t> counts() const { return counts_; }

 private:
  static constexpr uint64_t kBins = 1 << 16;
  void Widen();

  int shift_ = 0;
  std::vector<uint64_t> counts_ = std::vector<uint64_t>(kBins);
};

// A run of destinations whose edges are sorted together. In the file of buckets
// the edges that were given come first, then the reverses of others.
struct Bucket {
  uint64_t begin;  // Destinations [begin, end).
  uint64_t end;
  // Place of its first edge in the file of buckets, in edges.
  uint64_t first_edge;
  uint64_t num_edges;
  uint64_t num_given;  // Number of its edges that are no reverses.
};

// The edges' ends: those of given edges, and of their reverses.
struct EndHistograms {
  DestinationHistogram given;
  DestinationHistogram reverses;  // Has bins as wide as those of `given`.
};

// Cuts [0, num_nodes) at the bins' borders into buckets of at most
// `bucket_bytes`, with `edge_bytes` per edge. A bucket of one bin may be
// larger.
std::vector<Bucket> MakeBuckets(const EndHistograms& histograms,
                                uint64_t num_nodes, uint64_t edge_bytes,
                                uint64_t bucket_bytes);

}  // namespace fgnn

#endif  // FGNN_TOOLS_DATASET_BUILDING_EDGE_SPILL_H_
