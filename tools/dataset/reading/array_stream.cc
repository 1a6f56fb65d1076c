#include "tools/dataset/reading/array_stream.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <type_traits>
#include <utility>

#include "absl/strings/str_cat.h"
#include "shared/base/files/plain_file.h"
#include "shared/base/status.h"
#include "shared/graph/npy_layout.h"
#include "tools/dataset/reading/float_bits.h"

namespace fgnn {
namespace {

// Room for the longest header that ParseNpyHeader() takes.
constexpr size_t kMaxHeaderBytes = (size_t{1} << 16) + 12;

class FileSource : public ByteSource {
 public:
  explicit FileSource(PlainFile file) : file_(std::move(file)) {}

  absl::StatusOr<size_t> Read(absl::Span<std::byte> out) override {
    const uint64_t left = file_.size() - std::min(offset_, file_.size());
    out = out.first(std::min<uint64_t>(out.size(), left));
    FGNN_RETURN_IF_ERROR(file_.Read(offset_, out));
    offset_ += out.size();
    return out.size();
  }
  absl::Status Skip(uint64_t bytes) override {
    offset_ += bytes;
    return absl::OkStatus();
  }
  uint64_t size() const override { return file_.size(); }

 private:
  PlainFile file_;
  uint64_t offset_ = 0;
};

// The bytes that were read ahead, then the rest of the source.
class ReplayedSource : public ByteSource {
 public:
  ReplayedSource(std::vector<std::byte> head, std::unique_ptr<ByteSource> rest)
      : head_(std::move(head)), rest_(std::move(rest)) {}

  absl::StatusOr<size_t> Read(absl::Span<std::byte> out) override {
    const size_t from_head = std::min(out.size(), head_.size() - done_);
    if (from_head > 0) {
      std::memcpy(out.data(), head_.data() + done_, from_head);
      done_ += from_head;
    }
    if (from_head == out.size()) return from_head;
    FGNN_ASSIGN_OR_RETURN(const size_t more,
                          rest_->Read(out.subspan(from_head)));
    return from_head + more;
  }
  absl::Status Skip(uint64_t bytes) override {
    const uint64_t from_head = std::min<uint64_t>(bytes, head_.size() - done_);
    done_ += from_head;
    return bytes == from_head ? absl::OkStatus()
                              : rest_->Skip(bytes - from_head);
  }
  uint64_t size() const override { return rest_->size(); }

 private:
  std::vector<std::byte> head_;
  std::unique_ptr<ByteSource> rest_;
  size_t done_ = 0;
};

// The elements of an array in Fortran order, in C order. Holds the whole array
// from the first read on: its rows lie apart.
class FortranSource : public ByteSource {
 public:
  // `source` gives the elements in Fortran order, each of `element_bytes`.
  FortranSource(std::unique_ptr<ByteSource> source, std::vector<uint64_t> shape,
                size_t element_bytes)
      : source_(std::move(source)),
        shape_(std::move(shape)),
        element_bytes_(element_bytes) {
    for (const uint64_t dimension : shape_) num_elements_ *= dimension;
  }

  // Both take whole elements. DataLoss: the source ends too early.
  absl::StatusOr<size_t> Read(absl::Span<std::byte> out) override {
    if (elements_.empty() && num_elements_ > 0) FGNN_RETURN_IF_ERROR(ReadAll());
    const uint64_t count = std::min<uint64_t>(out.size() / element_bytes_,
                                              num_elements_ - position_);
    for (uint64_t i = 0; i < count; ++i) {
      std::memcpy(out.data() + i * element_bytes_,
                  elements_.data() + PlaceOf(position_ + i) * element_bytes_,
                  element_bytes_);
    }
    position_ += count;
    return count * element_bytes_;
  }
  absl::Status Skip(uint64_t bytes) override {
    position_ += std::min(bytes / element_bytes_, num_elements_ - position_);
    return absl::OkStatus();
  }
  uint64_t size() const override { return num_elements_ * element_bytes_; }

 private:
  absl::Status ReadAll() {
    elements_.resize(num_elements_ * element_bytes_);
    FGNN_ASSIGN_OR_RETURN(const size_t got,
                          source_->Read(absl::MakeSpan(elements_)));
    if (got == elements_.size()) return absl::OkStatus();
    return absl::DataLossError("the array is truncated; write it again");
  }
  // Returns the place in Fortran order of the element at `position` in C order.
  uint64_t PlaceOf(uint64_t position) const {
    uint64_t place = 0;
    uint64_t apart = num_elements_;  // Places between neighbours along `d`.
    for (size_t d = shape_.size(); d-- > 0;) {
      apart /= shape_[d];
      place += position % shape_[d] * apart;
      position /= shape_[d];
    }
    return place;
  }

  std::unique_ptr<ByteSource> source_;
  std::vector<uint64_t> shape_;
  size_t element_bytes_;
  uint64_t num_elements_ = 1;
  uint64_t position_ = 0;  // Number of elements read or skipped.
  std::vector<std::byte> elements_;
};

template <typename Raw>
Raw Load(const std::byte* bytes) {
  Raw raw;
  std::memcpy(&raw, bytes, sizeof(raw));
  return raw;
}

// Returns false if the value is not whole or does not fit.
template <typename Raw>
bool Convert(Raw raw, int64_t* out) {
  if constexpr (std::is_floating_point_v<Raw>) {
    if (!(std::fabs(raw) < 0x1.0p63) || raw != std::trunc(raw)) return false;
  }
  if constexpr (std::is_same_v<Raw, uint64_t>) {
    if (raw > static_cast<uint64_t>(INT64_MAX)) return false;
  }
  *out = static_cast<int64_t>(raw);
  return true;
}

template <typename Raw>
bool Convert(Raw raw, float* out) {
  *out = static_cast<float>(raw);
  return true;
}

// Returns the number of elements that were converted before one that cannot be.
template <typename Raw, typename Out>
size_t ConvertAll(const std::byte* bytes, absl::Span<Out> out) {
  for (size_t i = 0; i < out.size(); ++i) {
    if (!Convert(Load<Raw>(bytes + i * sizeof(Raw)), &out[i])) return i;
  }
  return out.size();
}

template <typename Out>
size_t ConvertHalves(const std::byte* bytes, absl::Span<Out> out) {
  for (size_t i = 0; i < out.size(); ++i) {
    const auto raw = Load<uint16_t>(bytes + i * sizeof(uint16_t));
    if (!Convert(HalfToFloat(raw), &out[i])) return i;
  }
  return out.size();
}

template <typename Out>
size_t ConvertAs(NpyType type, const std::byte* bytes, absl::Span<Out> out) {
  switch (type) {
    case NpyType::kF16:
      return ConvertHalves(bytes, out);
    case NpyType::kF32:
      return ConvertAll<float>(bytes, out);
    case NpyType::kF64:
      return ConvertAll<double>(bytes, out);
    case NpyType::kI8:
      return ConvertAll<int8_t>(bytes, out);
    case NpyType::kBool:
    case NpyType::kU8:
      return ConvertAll<uint8_t>(bytes, out);
    case NpyType::kU16:
      return ConvertAll<uint16_t>(bytes, out);
    case NpyType::kI32:
      return ConvertAll<int32_t>(bytes, out);
    case NpyType::kU32:
      return ConvertAll<uint32_t>(bytes, out);
    case NpyType::kI64:
      return ConvertAll<int64_t>(bytes, out);
    case NpyType::kU64:
      return ConvertAll<uint64_t>(bytes, out);
  }
  return 0;
}

}  // namespace

absl::StatusOr<ArrayStream> ArrayStream::OpenFile(
    const std::filesystem::path& path) {
  FGNN_ASSIGN_OR_RETURN(PlainFile file, PlainFile::Open(path));
  return Open(std::make_unique<FileSource>(std::move(file)), path.string());
}

absl::StatusOr<ArrayStream> ArrayStream::Open(
    std::unique_ptr<ByteSource> source, std::string what) {
  const uint64_t size = source->size();
  std::vector<std::byte> head(std::min<uint64_t>(size, kMaxHeaderBytes));
  FGNN_ASSIGN_OR_RETURN(const size_t got, source->Read(absl::MakeSpan(head)));
  head.resize(got);
  absl::StatusOr<NpyLayout> layout = ParseNpyLayout(head);
  if (!layout.ok()) return Annotate(layout.status(), what);
  if (layout->text != NpyText::kNone) {
    return absl::InvalidArgumentError(
        absl::StrCat(what, ": holds text, type '", layout->text_type,
                     "', where numbers are expected"));
  }
  NpyHeader& header = layout->header;
  const size_t element_bytes = BytesOf(header.type);
  const uint64_t bytes =
      header.data_offset + header.num_elements() * element_bytes;
  if (bytes != size) {
    const auto code = size < bytes ? absl::StatusCode::kDataLoss
                                   : absl::StatusCode::kInvalidArgument;
    return absl::Status(code, absl::StrCat(what, ": holds ", size,
                                           " bytes where its header says ",
                                           bytes, "; write it again"));
  }
  std::unique_ptr<ByteSource> data =
      std::make_unique<ReplayedSource>(std::move(head), std::move(source));
  FGNN_RETURN_IF_ERROR(data->Skip(header.data_offset));
  if (layout->fortran_order && header.shape.size() > 1) {
    data = std::make_unique<FortranSource>(std::move(data), header.shape,
                                           element_bytes);
  }
  return ArrayStream(std::move(data), std::move(what), std::move(header));
}

ArrayStream::ArrayStream(std::unique_ptr<ByteSource> source, std::string what,
                         NpyHeader header)
    : source_(std::move(source)),
      what_(std::move(what)),
      header_(std::move(header)) {}

uint64_t ArrayStream::rows() const {
  return header_.shape.empty() ? 1 : header_.shape.front();
}

uint64_t ArrayStream::columns() const {
  uint64_t product = 1;
  for (size_t i = 1; i < header_.shape.size(); ++i) product *= header_.shape[i];
  return product;
}

bool ArrayStream::is_integer() const {
  return header_.type != NpyType::kF16 && header_.type != NpyType::kF32 &&
         header_.type != NpyType::kF64;
}

absl::Status ArrayStream::ReadRaw(size_t count) {
  raw_.resize(count * BytesOf(header_.type));
  FGNN_ASSIGN_OR_RETURN(const size_t got, source_->Read(absl::MakeSpan(raw_)));
  if (got == raw_.size()) return absl::OkStatus();
  return absl::DataLossError(absl::StrCat(
      what_, ": ends after element ", position_ + got / BytesOf(header_.type),
      " of ", num_elements(), "; write it again"));
}

template <typename Out>
absl::Status ArrayStream::ReadConverted(absl::Span<Out> out) {
  while (!out.empty()) {
    const size_t count = std::min(out.size(), kChunkElements);
    FGNN_RETURN_IF_ERROR(ReadRaw(count));
    const size_t good =
        ConvertAs(header_.type, raw_.data(), out.subspan(0, count));
    if (good < count) {
      return absl::InvalidArgumentError(
          absl::StrCat(what_, ": element ", position_ + good,
                       " is not a whole number that fits 64 bits"));
    }
    position_ += count;
    out.remove_prefix(count);
  }
  return absl::OkStatus();
}

absl::Status ArrayStream::Read(absl::Span<int64_t> out) {
  return ReadConverted(out);
}

absl::Status ArrayStream::Read(absl::Span<float> out) {
  return ReadConverted(out);
}

absl::Status ArrayStream::Skip(uint64_t elements) {
  position_ += elements;
  return source_->Skip(elements * BytesOf(header_.type));
}

}  // namespace fgnn
