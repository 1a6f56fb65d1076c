#include "shared/graph/npy.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "shared/base/status.h"
#include "shared/base/unique_fd.h"

namespace fgnn {
namespace {

struct TypeRow {
  NpyType type;
  std::string_view descr;
  size_t bytes;
};
constexpr std::array<TypeRow, 11> kTypes = {{{NpyType::kF16, "<f2", 2},
                                             {NpyType::kF32, "<f4", 4},
                                             {NpyType::kF64, "<f8", 8},
                                             {NpyType::kI8, "|i1", 1},
                                             {NpyType::kU8, "|u1", 1},
                                             {NpyType::kU16, "<u2", 2},
                                             {NpyType::kI32, "<i4", 4},
                                             {NpyType::kU32, "<u4", 4},
                                             {NpyType::kI64, "<i8", 8},
                                             {NpyType::kU64, "<u8", 8},
                                             {NpyType::kBool, "|b1", 1}}};

constexpr char kMagic[] = "\x93NUMPY";
constexpr size_t kMagicBytes = 6;
constexpr size_t kMaxHeaderBytes = 1 << 16;
constexpr size_t kDataAlignment = 64;
constexpr size_t kMaxDimensions = 32;     // NumPy's own bound.
constexpr size_t kLongestDimension = 20;  // Digits of 2^64 - 1.
constexpr uint64_t kMaxArrayBytes = uint64_t{1} << 62;

const TypeRow& RowOf(NpyType type) { return kTypes[static_cast<size_t>(type)]; }

absl::Status Malformed(std::string_view reason) {
  return absl::InvalidArgumentError(absl::StrCat(
      "not a readable .npy header: ", std::string(reason),
      "; write the array with numpy.save(file, numpy.ascontiguousarray(a))"));
}

// Reads the Python literal of the header: a dict of a string, a bool and a
// tuple of integers. Nothing else of Python is understood.
class HeaderParser {
 public:
  explicit HeaderParser(std::string_view text) : text_(text) {}

  absl::StatusOr<NpyHeader> Parse() {
    NpyHeader header;
    if (!Take('{')) return Malformed("no dictionary");
    while (!Take('}')) {
      std::string_view key;
      if (!TakeString(&key) || !Take(':')) return Malformed("no key");
      FGNN_RETURN_IF_ERROR(TakeValue(key, &header));
      Take(',');
    }
    if (!has_type_ || !has_shape_ || !has_order_) {
      return Malformed("one of descr, fortran_order and shape is missing");
    }
    return header;
  }

 private:
  void SkipSpace() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\n')) {
      ++at_;
    }
  }
  bool Take(char wanted) {
    SkipSpace();
    if (at_ >= text_.size() || text_[at_] != wanted) return false;
    ++at_;
    return true;
  }
  bool TakeWord(std::string_view wanted) {
    SkipSpace();
    if (text_.substr(at_, wanted.size()) != wanted) return false;
    at_ += wanted.size();
    return true;
  }
  bool TakeString(std::string_view* value) {
    SkipSpace();
    if (at_ >= text_.size()) return false;
    const char quote = text_[at_];
    if (quote != '\'' && quote != '"') return false;
    const size_t end = text_.find(quote, at_ + 1);
    if (end == std::string_view::npos) return false;
    *value = text_.substr(at_ + 1, end - at_ - 1);
    at_ = end + 1;
    return true;
  }
  bool TakeInteger(uint64_t* value) {
    SkipSpace();
    const size_t begin = at_;
    *value = 0;
    while (at_ < text_.size() && text_[at_] >= '0' && text_[at_] <= '9') {
      if (__builtin_mul_overflow(*value, uint64_t{10}, value) ||
          __builtin_add_overflow(
              *value, static_cast<uint64_t>(text_[at_] - '0'), value)) {
        return false;
      }
      ++at_;
    }
    return at_ != begin;
  }

  absl::Status TakeValue(std::string_view key, NpyHeader* header) {
    if (key == "descr") return TakeType(header);
    if (key == "shape") return TakeShape(header);
    if (key != "fortran_order") {
      return Malformed(absl::StrCat("unknown key '", std::string(key), "'"));
    }
    if (TakeWord("True")) return Malformed("the array is in Fortran order");
    if (!TakeWord("False")) return Malformed("fortran_order is no bool");
    has_order_ = true;
    return absl::OkStatus();
  }

  absl::Status TakeType(NpyHeader* header) {
    std::string_view descr;
    if (!TakeString(&descr)) return Malformed("descr is not a plain type");
    for (const TypeRow& row : kTypes) {
      if (row.descr == descr) {
        header->type = row.type;
        has_type_ = true;
        return absl::OkStatus();
      }
    }
    if (!descr.empty() && descr.front() == '>') {
      return Malformed(
          absl::StrCat("type '", std::string(descr), "' is big endian"));
    }
    return Malformed(
        absl::StrCat("type '", std::string(descr), "' is not supported"));
  }

  absl::Status TakeShape(NpyHeader* header) {
    if (!Take('(')) return Malformed("shape is no tuple");
    while (!Take(')')) {
      uint64_t dimension = 0;
      if (!TakeInteger(&dimension))
        return Malformed("a dimension is no number");
      if (header->shape.size() == kMaxDimensions) {
        return Malformed("more than 32 dimensions");
      }
      header->shape.push_back(dimension);
      Take(',');
    }
    has_shape_ = true;
    return absl::OkStatus();
  }

  std::string_view text_;
  size_t at_ = 0;
  bool has_type_ = false;
  bool has_shape_ = false;
  bool has_order_ = false;
};

// Zero dimensions count as one here: (0, 2^63, 2^63) is not worth a mapping.
absl::Status CheckArrayBytes(const NpyHeader& header) {
  uint64_t bytes = BytesOf(header.type);
  for (const uint64_t dimension : header.shape) {
    if (__builtin_mul_overflow(bytes, dimension == 0 ? 1 : dimension, &bytes) ||
        bytes > kMaxArrayBytes) {
      return Malformed(absl::StrCat(
          "shape (", absl::StrJoin(header.shape, ", "), ") overflows"));
    }
  }
  return absl::OkStatus();
}

std::string HeaderText(NpyType type, absl::Span<const uint64_t> shape) {
  return absl::StrCat("{'descr': '", std::string(DescrOf(type)),
                      "', 'fortran_order': False, 'shape': (",
                      absl::StrJoin(shape, ", "),
                      shape.size() == 1 ? ",), }" : "), }");
}

}  // namespace

size_t BytesOf(NpyType type) { return RowOf(type).bytes; }

std::string_view DescrOf(NpyType type) { return RowOf(type).descr; }

uint64_t NpyHeader::num_elements() const {
  uint64_t count = 1;
  for (const uint64_t dimension : shape) count *= dimension;
  return count;
}

absl::StatusOr<NpyHeader> ParseNpyHeader(absl::Span<const std::byte> bytes) {
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()),
                              bytes.size());
  if (text.size() < kMagicBytes + 4) {
    return Malformed(absl::StrCat("the file ends after ", text.size(), " B"));
  }
  if (text.substr(0, kMagicBytes) != std::string_view(kMagic, kMagicBytes)) {
    return Malformed("the first bytes are not those of NumPy");
  }
  const int major = static_cast<unsigned char>(text[6]);
  if (major < 1 || major > 3) {
    return Malformed(absl::StrCat("format version ", major, " is unknown"));
  }
  const size_t length_bytes = major == 1 ? 2 : 4;
  const size_t begin = kMagicBytes + 2 + length_bytes;
  if (text.size() < begin) return Malformed("the file ends in the header");
  size_t length = 0;
  for (size_t i = 0; i < length_bytes; ++i) {
    length |= size_t{static_cast<unsigned char>(text[8 + i])} << (8 * i);
  }
  if (length > kMaxHeaderBytes) {
    return Malformed(absl::StrCat("it claims to be ", length, " B long"));
  }
  if (text.size() - begin < length) {
    return Malformed("the file ends in the header");
  }
  FGNN_ASSIGN_OR_RETURN(NpyHeader header,
                        HeaderParser(text.substr(begin, length)).Parse());
  FGNN_RETURN_IF_ERROR(CheckArrayBytes(header));
  header.data_offset = begin + length;
  return header;
}

std::string MakeNpyHeader(NpyType type, absl::Span<const uint64_t> shape) {
  std::string text = HeaderText(type, shape);
  const size_t first = shape.empty() ? 0 : absl::StrCat(shape[0]).size();
  const size_t longest =
      text.size() + (shape.empty() ? 0 : kLongestDimension - first);
  constexpr size_t kPrefix = kMagicBytes + 4;
  // One more for the newline that ends the header.
  const size_t total = (kPrefix + longest + 1 + kDataAlignment - 1) /
                       kDataAlignment * kDataAlignment;
  const size_t length = total - kPrefix;
  text.resize(length - 1, ' ');
  const char prefix[4] = {1, 0, static_cast<char>(length & 0xff),
                          static_cast<char>(length >> 8)};
  return absl::StrCat(std::string(kMagic, kMagicBytes), std::string(prefix, 4),
                      text, "\n");
}

absl::StatusOr<NpyArray> NpyArray::Open(const std::filesystem::path& path) {
  NpyArray array;
  FGNN_ASSIGN_OR_RETURN(array.file_, MappedFile::Open(path));
  absl::StatusOr<NpyHeader> header = ParseNpyHeader(array.file_.bytes());
  if (!header.ok()) return Annotate(header.status(), path.string());
  const uint64_t need = header->num_elements() * BytesOf(header->type);
  const uint64_t have = array.file_.bytes().size() - header->data_offset;
  if (need != have) {
    return absl::InvalidArgumentError(absl::StrCat(
        path.string(), ": its header says shape (",
        absl::StrJoin(header->shape, ", "), ") of '",
        std::string(DescrOf(header->type)), "', which is ", need,
        " B from offset ", header->data_offset, ", but ", have, " B follow; ",
        have < need ? "it is truncated" : "it has foreign bytes at its end",
        ": copy or build it again"));
  }
  if (header->data_offset % BytesOf(header->type) != 0) {
    return absl::InvalidArgumentError(
        absl::StrCat(path.string(), ": its data starts at offset ",
                     header->data_offset, ", which is not aligned to ",
                     BytesOf(header->type), " B; save it again with NumPy"));
  }
  array.header_ = *std::move(header);
  return array;
}

const std::byte* NpyArray::data() const {
  // An empty array may end with its header.
  return file_.bytes().data() + header_.data_offset;
}

// Private to the writer: buffers small appends, passes large ones through.
struct NpyWriter::File {
  static constexpr size_t kBufferBytes = 1 << 20;

  ~File() {
    if (fd.valid()) ::unlink(path.c_str());
  }

  absl::Status WriteAt(const char* data, size_t bytes, uint64_t offset) const {
    while (bytes > 0) {
      const ssize_t written =
          ::pwrite(fd.get(), data, bytes, static_cast<off_t>(offset));
      if (written < 0 && errno == EINTR) continue;
      if (written < 0) {
        return ErrnoToStatus(errno, absl::StrCat("write ", path.string(),
                                                 " at offset ", offset));
      }
      data += written;
      offset += static_cast<uint64_t>(written);
      bytes -= static_cast<size_t>(written);
    }
    return absl::OkStatus();
  }

  absl::Status Flush() {
    FGNN_RETURN_IF_ERROR(WriteAt(buffer.data(), buffer.size(), file_bytes));
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
  uint64_t file_bytes = 0;  // Written so far, the header's room included.
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
  FGNN_RETURN_IF_ERROR(file->WriteAt(header.data(), header.size(), 0));
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
    FGNN_RETURN_IF_ERROR(file_->WriteAt(from, bytes, file_->file_bytes));
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
  FGNN_RETURN_IF_ERROR(file_->WriteAt(header.data(), header.size(), 0));
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
