#include "tools/dataset/building/edge_spill.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "absl/strings/str_cat.h"
#include "shared/base/files/file.h"
#include "shared/base/status.h"

namespace fgnn {
namespace {

// Bytes for a vertex's count and its place in the sort.
constexpr uint64_t kBytesPerDestination = 12;

}  // namespace

absl::StatusOr<SpillFile> SpillFile::Create(const std::filesystem::path& path) {
  SpillFile file;
  file.fd_.Reset(
      ::open(path.c_str(), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600));
  if (!file.fd_.valid()) {
    return ErrnoToStatus(errno, absl::StrCat("create ", path.string()));
  }
  file.path_ = path;
  return file;
}

SpillFile& SpillFile::operator=(SpillFile&& other) noexcept {
  std::swap(path_, other.path_);
  std::swap(fd_, other.fd_);
  return *this;
}

SpillFile::~SpillFile() {
  if (fd_.valid()) ::unlink(path_.c_str());
}

absl::Status SpillFile::Write(const void* data, size_t bytes,
                              uint64_t offset) const {
  return WriteAt(fd_.get(), {static_cast<const char*>(data), bytes}, offset,
                 absl::StrCat("write ", path_.string(), " at offset ", offset));
}

absl::Status SpillFile::Read(void* data, size_t bytes, uint64_t offset) const {
  const std::string what =
      absl::StrCat("read ", path_.string(), " at offset ", offset);
  FGNN_ASSIGN_OR_RETURN(
      const size_t got,
      ReadAt(fd_.get(), {static_cast<std::byte*>(data), bytes}, offset, what));
  if (got == bytes) return absl::OkStatus();
  return absl::DataLossError(
      absl::StrCat(what, ": the file ends; somebody else wrote to it"));
}

void DestinationHistogram::Widen() {
  for (uint64_t bin = 0; bin < kBins / 2; ++bin) {
    counts_[bin] = counts_[2 * bin] + counts_[2 * bin + 1];
  }
  std::fill(counts_.begin() + kBins / 2, counts_.end(), 0);
  ++shift_;
}

std::vector<Bucket> MakeBuckets(const EndHistograms& histograms,
                                uint64_t num_nodes, uint64_t edge_bytes,
                                uint64_t bucket_bytes) {
  const uint64_t width = histograms.given.bin_width();
  std::vector<Bucket> buckets;
  uint64_t bytes = 0;
  uint64_t placed = 0;
  for (uint64_t bin = 0; bin * width < num_nodes; ++bin) {
    const uint64_t given = histograms.given.counts()[bin];
    const uint64_t edges = given + histograms.reverses.counts()[bin];
    const uint64_t cost = edges * edge_bytes + width * kBytesPerDestination;
    if (buckets.empty() || bytes + cost > bucket_bytes) {
      buckets.push_back({bin * width, bin * width, placed, 0, 0});
      bytes = 0;
    }
    Bucket& bucket = buckets.back();
    bucket.end = std::min(num_nodes, (bin + 1) * width);
    bucket.num_edges += edges;
    bucket.num_given += given;
    bytes += cost;
    placed += edges;
  }
  return buckets;
}

}  // namespace fgnn
