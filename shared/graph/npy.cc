#include "shared/graph/npy.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "shared/base/files/file.h"
#include "shared/base/files/unique_fd.h"
#include "shared/base/status.h"

namespace fgnn {

namespace {

// Returns the header of a file of `file_bytes` bytes that begins with `head`.
absl::StatusOr<NpyHeader> CheckedHeader(const std::filesystem::path& path,
                                        absl::Span<const std::byte> head,
                                        uint64_t file_bytes) {
  absl::StatusOr<NpyHeader> header = ParseNpyHeader(head);
  if (!header.ok()) return Annotate(header.status(), path.string());
  const uint64_t need = header->num_elements() * BytesOf(header->type);
  const uint64_t have = file_bytes - header->data_offset;
  if (need != have) {
    const auto code = have < need ? absl::StatusCode::kDataLoss
                                  : absl::StatusCode::kInvalidArgument;
    return absl::Status(
        code, absl::StrCat(path.string(), ": its header says shape (",
                           absl::StrJoin(header->shape, ", "), ") of '",
                           std::string(DescrOf(header->type)), "', which is ",
                           need, " B from offset ", header->data_offset,
                           ", but ", have, " B follow; ",
                           have < need ? "it is truncated"
                                       : "it has foreign bytes at its end",
                           ": copy or build it again"));
  }
  if (header->data_offset % BytesOf(header->type) != 0) {
    return absl::InvalidArgumentError(
        absl::StrCat(path.string(), ": its data starts at offset ",
                     header->data_offset, ", which is not aligned to ",
                     BytesOf(header->type), " B; save it again with NumPy"));
  }
  return header;
}

}  // namespace

absl::StatusOr<NpyArray> NpyArray::Open(const std::filesystem::path& path) {
  NpyArray array;
  FGNN_ASSIGN_OR_RETURN(array.file_, MappedFile::Open(path));
  const absl::Span<const std::byte> bytes = array.file_.bytes();
  FGNN_ASSIGN_OR_RETURN(array.header_,
                        CheckedHeader(path, bytes, bytes.size()));
  return array;
}

absl::StatusOr<NpyArray> NpyArray::OpenHeader(
    const std::filesystem::path& path) {
  FGNN_ASSIGN_OR_RETURN(const UniqueFd fd, OpenPlainFile(path));
  std::vector<std::byte> head(kMostNpyHeaderBytes);
  FGNN_ASSIGN_OR_RETURN(size_t bytes, ReadAt(fd.get(), absl::MakeSpan(head), 0,
                                             "read " + path.string()));
  const off_t size = ::lseek(fd.get(), 0, SEEK_END);
  if (size < 0) return ErrnoToStatus(errno, "read " + path.string());
  // The file may have shrunk since its head was read.
  bytes = std::min(bytes, static_cast<size_t>(size));
  NpyArray array;
  FGNN_ASSIGN_OR_RETURN(array.header_,
                        CheckedHeader(path, absl::MakeSpan(head).first(bytes),
                                      static_cast<uint64_t>(size)));
  return array;
}

const std::byte* NpyArray::data() const {
  if (file_.bytes().empty()) return nullptr;
  // An empty array may end with its header.
  return file_.bytes().data() + header_.data_offset;
}

// The open file. Buffers small appends, and passes large ones through.
struct NpyWriter::File {
  static constexpr size_t kBufferBytes = 1 << 20;

  ~File() {
    if (fd.valid()) ::unlink(path.c_str());
  }

  absl::Status Write(std::string_view bytes, uint64_t offset) const {
    return WriteAt(
        fd.get(), bytes, offset,
        absl::StrCat("write ", path.string(), " at offset ", offset));
  }

  absl::Status Flush() {
    FGNN_RETURN_IF_ERROR(Write(buffer, file_bytes));
    file_bytes += buffer.size();
    buffer.clear();
    return absl::OkStatus();
  }

  std::filesystem::path path;
  UniqueFd fd;
  NpyType type = NpyType::kF32;
  std::vector<uint64_t> row_shape;
  uint64_t row_bytes = 0;
  uint64_t header_bytes = 0;
  // Bytes written so far, with the room for the header.
  uint64_t file_bytes = 0;
  std::string buffer;
};

absl::StatusOr<NpyWriter> NpyWriter::Create(const std::filesystem::path& path,
                                            NpyType type,
                                            std::vector<uint64_t> row_shape) {
  auto file = std::make_unique<File>();
  file->path = path;
  file->type = type;
  file->row_shape = std::move(row_shape);
  const absl::Status fits =
      CheckArrayBytes(NpyHeader{type, file->row_shape, 0});
  if (!fits.ok()) return Annotate(fits, path.string());
  file->row_bytes =
      NpyHeader{type, file->row_shape, 0}.num_elements() * BytesOf(type);
  file->fd.Reset(
      ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666));
  if (!file->fd.valid()) {
    return ErrnoToStatus(errno, absl::StrCat("create ", path.string()));
  }
  std::vector<uint64_t> shape = file->row_shape;
  shape.insert(shape.begin(), 0);
  const std::string header = MakeNpyHeader(type, shape);
  file->header_bytes = header.size();
  file->buffer.reserve(File::kBufferBytes);
  FGNN_RETURN_IF_ERROR(file->Write(header, 0));
  file->file_bytes = header.size();
  return NpyWriter(std::move(file));
}

NpyWriter::NpyWriter(std::unique_ptr<File> file) : file_(std::move(file)) {}
NpyWriter::NpyWriter(NpyWriter&&) noexcept = default;
NpyWriter& NpyWriter::operator=(NpyWriter&&) noexcept = default;
NpyWriter::~NpyWriter() = default;

absl::Status NpyWriter::Append(const void* data, size_t bytes) {
  if (file_ == nullptr) {
    return absl::FailedPreconditionError("append to a closed NpyWriter");
  }
  const char* from = static_cast<const char*>(data);
  if (file_->buffer.size() + bytes > File::kBufferBytes) {
    FGNN_RETURN_IF_ERROR(file_->Flush());
  }
  if (bytes >= File::kBufferBytes) {
    FGNN_RETURN_IF_ERROR(file_->Write({from, bytes}, file_->file_bytes));
    file_->file_bytes += bytes;
    return absl::OkStatus();
  }
  file_->buffer.append(from, bytes);
  return absl::OkStatus();
}

absl::Status NpyWriter::Close() {
  if (file_ == nullptr) {
    return absl::FailedPreconditionError("close of a closed NpyWriter");
  }
  FGNN_RETURN_IF_ERROR(file_->Flush());
  const uint64_t data_bytes = file_->file_bytes - file_->header_bytes;
  if (file_->row_bytes != 0 && data_bytes % file_->row_bytes != 0) {
    return absl::InvalidArgumentError(
        absl::StrCat(file_->path.string(), ": ", data_bytes,
                     " B were written, which is no whole number of rows of ",
                     file_->row_bytes, " B"));
  }
  std::vector<uint64_t> shape = file_->row_shape;
  shape.insert(shape.begin(),
               file_->row_bytes == 0 ? 0 : data_bytes / file_->row_bytes);
  const std::string header = MakeNpyHeader(file_->type, shape);
  FGNN_RETURN_IF_ERROR(file_->Write(header, 0));
  // Quota and network file systems report some errors only here.
  if (::close(file_->fd.Release()) != 0) {
    const int error = errno;
    ::unlink(file_->path.c_str());
    return ErrnoToStatus(error, absl::StrCat("close ", file_->path.string()));
  }
  file_.reset();
  return absl::OkStatus();
}

}  // namespace fgnn
