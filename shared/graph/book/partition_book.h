// The partition book of a dataset: which of 64 fine parts each vertex is in.
#ifndef FGNN_SHARED_GRAPH_BOOK_PARTITION_BOOK_H_
#define FGNN_SHARED_GRAPH_BOOK_PARTITION_BOOK_H_

#include <cstdint>
#include <filesystem>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "shared/base/files/file.h"
#include "shared/base/types.h"
#include "shared/graph/dataset.h"
#include "shared/graph/host_rows.h"

namespace fgnn {

// A mapped file: all daemons of a machine share its pages. A vertex belongs to
// the owner of its fine part, for any number of owners (FastSample's and
// GSplit's partition of the vertices). Immutable, safe to read from any thread.
class PartitionBook {
 public:
  // Opens the book of a host folder or, of any other dataset, the one that is
  // derived from this state of it. NotFound: there is none. DataLoss: the file
  // is damaged. InvalidArgument, with both keys: a host folder has another book
  // than the one it was cut by.
  static absl::StatusOr<PartitionBook> Open(const Dataset& dataset);
  // Opens a book of `num_nodes` vertices, which is no derived file. Errors:
  // those of MappedFile::Open(); DataLoss: the file is damaged, or a book of
  // another number of vertices.
  static absl::StatusOr<PartitionBook> OpenFile(
      const std::filesystem::path& path, uint64_t num_nodes);

  // Saves the book of this state of the dataset, and removes those of other
  // states. parts [N]: the fine part of each vertex, below kFineParts.
  // InvalidArgument: it is not, or the dataset is a host folder. Otherwise
  // returns errors of DerivedFiles::Keep().
  static absl::Status Save(const Dataset& dataset,
                           absl::Span<const uint8_t> parts);
  // Returns the bytes of a file that OpenFile() reads. parts: as in Save().
  static absl::StatusOr<std::string> ToBytes(absl::Span<const uint8_t> parts);

  uint64_t num_nodes() const { return parts_.size(); }  // N
  // Returns a hash of all parts: equal for equal books, and never 0.
  uint64_t key() const { return key_; }
  // Returns the fine part of v, in [0, kFineParts), also if the file has
  // changed since it was opened. v is below N.
  uint32_t PartOf(GlobalId v) const { return parts_[v] % kFineParts; }

 private:
  PartitionBook() = default;
  static absl::StatusOr<PartitionBook> OpenOfHost(const Dataset& dataset,
                                                  const HostRows& host);
  static absl::StatusOr<PartitionBook> Read(MappedFile file, uint64_t num_nodes,
                                            const std::string& name);

  MappedFile file_;
  absl::Span<const uint8_t> parts_;
  uint64_t key_ = 0;
};

}  // namespace fgnn

#endif  // FGNN_SHARED_GRAPH_BOOK_PARTITION_BOOK_H_
