// Reads NumPy arrays from front to back in constant memory: .npy files, and the
// members of .npz archives, compressed or not.
#ifndef FGNN_TOOLS_DATASET_READING_ARRAY_STREAM_H_
#define FGNN_TOOLS_DATASET_READING_ARRAY_STREAM_H_

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "shared/graph/npy.h"

namespace fgnn {

// Numbers that a reader of arrays has in memory at once.
inline constexpr size_t kChunkElements = size_t{1} << 15;

// The source of an ArrayStream's bytes.
class ByteSource {
 public:
  virtual ~ByteSource() = default;
  // Fills `out`; returns fewer bytes only at the end.
  virtual absl::StatusOr<size_t> Read(absl::Span<std::byte> out) = 0;
  // Skips bytes; may be as slow as reading them.
  virtual absl::Status Skip(uint64_t bytes) = 0;
  virtual uint64_t size() const = 0;
};

// Not thread-safe. Errors name the array.
class ArrayStream {
 public:
  // NotFound: no such file. DataLoss: the file is shorter than its header says.
  // InvalidArgument: not an .npy file of numbers, or it is longer.
  static absl::StatusOr<ArrayStream> OpenFile(
      const std::filesystem::path& path);
  static absl::StatusOr<ArrayStream> Open(std::unique_ptr<ByteSource> source,
                                          std::string what);

  // Name for messages: "folder/labels.npy" or "photo.npz (labels)".
  const std::string& what() const { return what_; }
  NpyType type() const { return header_.type; }
  absl::Span<const uint64_t> shape() const { return header_.shape; }
  uint64_t num_elements() const { return header_.num_elements(); }
  // The first dimension, 1 for a scalar; and the product of the others.
  uint64_t rows() const;
  uint64_t columns() const;
  bool is_integer() const;
  // Number of elements read or skipped.
  uint64_t position() const { return position_; }

  // Reads the next elements, converted; at most as many as are left. For
  // integers, InvalidArgument names the element that is not whole or does not
  // fit.
  absl::Status Read(absl::Span<int64_t> out);
  absl::Status Read(absl::Span<float> out);
  absl::Status Skip(uint64_t elements);

 private:
  ArrayStream(std::unique_ptr<ByteSource> source, std::string what,
              NpyHeader header);
  absl::Status ReadRaw(size_t count);
  template <typename Out>
  absl::Status ReadConverted(absl::Span<Out> out);

  std::unique_ptr<ByteSource> source_;
  std::string what_;
  NpyHeader header_;
  uint64_t position_ = 0;
  std::vector<std::byte> raw_;
};

// An .npz archive. Its streams keep it open.
class NpzArchive {
 public:
  // InvalidArgument: not a zip archive.
  static absl::StatusOr<NpzArchive> Open(const std::filesystem::path& path);

  // Returns true if there is an array `name`, that is, a member "name.npy".
  bool Has(const std::string& name) const;
  std::vector<std::string> Names() const;
  // Returns the names of the arrays that OpenArray() was not asked for, in the
  // order of the archive.
  std::vector<std::string> Unopened() const;
  // NotFound names the arrays of the archive. Each call reads from the front.
  absl::StatusOr<ArrayStream> OpenArray(const std::string& name) const;
  const std::string& what() const;

 private:
  struct Archive;
  explicit NpzArchive(std::shared_ptr<Archive> archive);
  friend class NpzMember;
  // Shared with the streams, which may outlive this object.
  std::shared_ptr<Archive> archive_;
};

}  // namespace fgnn

#endif  // FGNN_TOOLS_DATASET_READING_ARRAY_STREAM_H_
