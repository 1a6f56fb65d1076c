// NumPy's .npy format, versions 1.0 to 3.0, little endian, C order. A header
// states type and shape; the array follows. Files are read by mapping and
// written as a stream.
#ifndef FGNN_SHARED_GRAPH_NPY_H_
#define FGNN_SHARED_GRAPH_NPY_H_

#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "shared/base/files/file.h"

namespace fgnn {

// The element types that datasets use. NumPy has no bf16: it is written as
// '<u2', and metadata.yaml states the meaning.
enum class NpyType : uint8_t {
  kF16,
  kF32,
  kF64,
  kI8,
  kU8,
  kU16,
  kI32,
  kU32,
  kI64,
  kU64,
  kBool
};

size_t BytesOf(NpyType type);
std::string_view DescrOf(NpyType type);  // "<f4", "|b1", …

struct NpyHeader {
  NpyType type = NpyType::kF32;
  std::vector<uint64_t> shape;
  // Offset of the first element in bytes from the file's start.
  uint64_t data_offset = 0;

  uint64_t num_elements() const;
};

// The most bytes of a header, from the start of its file.
inline constexpr size_t kMostNpyHeaderBytes = (1 << 16) + 12;

// Parses the header at the head of `bytes`. Errors give the reason, not the
// file's name. DataLoss: the bytes end in the header. InvalidArgument: anything
// else, also Fortran order, text and big endian.
absl::StatusOr<NpyHeader> ParseNpyHeader(absl::Span<const std::byte> bytes);

// InvalidArgument if an array of this type and shape would have more than 2^62
// bytes. A dimension of zero counts as one.
absl::Status CheckArrayBytes(const NpyHeader& header);

// Returns the header's bytes, padded so that the data is 64-byte aligned. The
// header has room for any first dimension: headers of equal types and rows have
// equal lengths.
std::string MakeNpyHeader(NpyType type, absl::Span<const uint64_t> shape);

// A mapped array. Open() checks that the file holds exactly what its header
// states.
class NpyArray {
 public:
  static absl::StatusOr<NpyArray> Open(const std::filesystem::path& path);
  // As Open(), but reads the header and maps nothing: data() is nullptr, and
  // As() returns a span that has only a size. A file that shrinks meanwhile
  // does no harm.
  static absl::StatusOr<NpyArray> OpenHeader(const std::filesystem::path& path);
  NpyArray() = default;

  const NpyHeader& header() const { return header_; }
  const std::byte* data() const;  // nullptr: nothing is mapped.

  // Returns the elements. T must have the size of the header's type (a u32 may
  // be read from '<i4' after its range was checked).
  template <typename T>
  absl::Span<const T> As() const {
    return {reinterpret_cast<const T*>(data()),
            static_cast<size_t>(header_.num_elements())};
  }

 private:
  MappedFile file_;
  NpyHeader header_;
};

// Writes an array from front to back without knowing its first dimension
// beforehand. Close() must be called; an unclosed file is removed.
class NpyWriter {
 public:
  // `row_shape` is the shape without its first dimension.
  static absl::StatusOr<NpyWriter> Create(const std::filesystem::path& path,
                                          NpyType type,
                                          std::vector<uint64_t> row_shape);
  NpyWriter(NpyWriter&&) noexcept;
  NpyWriter& operator=(NpyWriter&&) noexcept;
  ~NpyWriter();

  // Appends whole rows or parts of rows.
  absl::Status Append(const void* data, size_t bytes);
  // Writes the shape into the header, flushes and closes. InvalidArgument if a
  // row is partial.
  absl::Status Close();

 private:
  struct File;
  explicit NpyWriter(std::unique_ptr<File> file);
  std::unique_ptr<File> file_;
};

}  // namespace fgnn

#endif  // FGNN_SHARED_GRAPH_NPY_H_
