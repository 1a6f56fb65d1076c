#include <algorithm>
#include <array>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "shared/base/status.h"
#include "shared/graph/npy.h"
#include "shared/graph/npy_layout.h"

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
static_assert(kMostNpyHeaderBytes >= kMaxHeaderBytes + kMagicBytes + 6);
constexpr size_t kDataAlignment = 64;
constexpr size_t kMaxDimensions = 32;     // NumPy has the same bound.
constexpr size_t kLongestDimension = 20;  // Number of digits of 2^64 - 1.
constexpr uint64_t kMaxArrayBytes = uint64_t{1} << 62;

const TypeRow& RowOf(NpyType type) { return kTypes[static_cast<size_t>(type)]; }

absl::Status Unreadable(const std::string& reason, const std::string& way_out) {
  return absl::InvalidArgumentError(
      absl::StrCat("not a readable .npy header: ", reason, "; ", way_out));
}

absl::Status Malformed(std::string_view reason) {
  return Unreadable(
      std::string(reason),
      "write the array with numpy.save(file, numpy.ascontiguousarray(a))");
}

absl::Status Truncated(uint64_t bytes) {
  return absl::DataLossError(
      absl::StrCat("its .npy header is truncated: the file ends after ", bytes,
                   " B; copy or build it again"));
}

// Returns how NumPy writes the values of an array of `descr` so that they are
// read. `descr` is "<f4" or the like: the order of bytes, the kind, and the
// bytes of an element.
std::string WayOutOf(std::string_view descr) {
  const auto as = [](const std::string& type) {
    return absl::StrCat("numpy.save(file, a.astype(", type, "))");
  };
  const std::string_view sized =
      descr.substr(std::min<size_t>(1, descr.size()));
  for (const TypeRow& row : kTypes) {
    if (row.descr.substr(1) == sized) {
      return absl::StrCat("write it with ",
                          as(absl::StrCat("'", std::string(row.descr), "'")));
    }
  }
  switch (sized.empty() ? ' ' : sized.front()) {
    case 'f':  // A long double.
      return absl::StrCat("write it with ", as("'<f8'"));
    case 'i':
    case 'M':  // A time.
    case 'm':
      return absl::StrCat("write it with ", as("'<i8'"));
    case 'c':
      return "write a.real and a.imag, as columns of their own";
    case 'V':
      return "write each of its fields with numpy.save(file, a['FIELD'])";
    case 'U':
    case 'S':
      if (descr.front() != '>') {  // Text, where there have to be numbers.
        return absl::StrCat("write numbers with ", as("'<f8'"));
      }
      [[fallthrough]];
    default:  // Objects of Python.
      return absl::StrCat("write numbers with ", as("'<f8'"), ", names with ",
                          as("str"));
  }
}

absl::Status UnknownType(std::string_view descr) {
  return Unreadable(
      absl::StrCat("type '", std::string(descr), "' is not supported"),
      WayOutOf(descr));
}

// Reads the Python literal of the header: a dict of a string, a bool and a
// tuple of integers. It accepts nothing else of Python.
class HeaderParser {
 public:
  explicit HeaderParser(std::string_view text) : text_(text) {}

  absl::StatusOr<NpyLayout> Parse() {
    NpyLayout layout;
    if (!Take('{')) return Malformed("no dictionary");
    while (!Take('}')) {
      std::string_view key;
      if (!TakeString(&key) || !Take(':')) return Malformed("no key");
      FGNN_RETURN_IF_ERROR(TakeValue(key, &layout));
      Take(',');
    }
    if (!has_type_ || !has_shape_ || !has_order_) {
      return Malformed("one of descr, fortran_order and shape is missing");
    }
    return layout;
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

  absl::Status TakeValue(std::string_view key, NpyLayout* layout) {
    if (key == "descr") return TakeType(layout);
    if (key == "shape") return TakeShape(&layout->header);
    if (key != "fortran_order") {
      return Malformed(absl::StrCat("unknown key '", std::string(key), "'"));
    }
    layout->fortran_order = TakeWord("True");
    if (!layout->fortran_order && !TakeWord("False")) {
      return Malformed("fortran_order is no bool");
    }
    has_order_ = true;
    return absl::OkStatus();
  }

  absl::Status TakeType(NpyLayout* layout) {
    std::string_view descr;
    if (!TakeString(&descr)) {
      return Unreadable("descr is not a plain type", WayOutOf("|V"));
    }
    has_type_ = true;
    for (const TypeRow& row : kTypes) {
      if (row.descr == descr) {
        layout->header.type = row.type;
        layout->element_bytes = row.bytes;
        return absl::OkStatus();
      }
    }
    if (TakeText(descr, layout)) return absl::OkStatus();
    return UnknownType(descr);
  }

  // Returns false for a type that is not of text, as "<U5" and "|S5" are.
  static bool TakeText(std::string_view descr, NpyLayout* layout) {
    const std::string_view kind = descr.substr(0, 2);
    uint32_t length = 0;
    if ((kind != "<U" && kind != "|S") ||
        !absl::SimpleAtoi(std::string(descr.substr(2)), &length)) {
      return false;
    }
    layout->text = kind == "<U" ? NpyText::kUtf32 : NpyText::kBytes;
    layout->text_type = std::string(descr);
    layout->element_bytes =
        uint64_t{length} * (kind == "<U" ? sizeof(char32_t) : 1);
    return true;
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

std::string HeaderText(NpyType type, absl::Span<const uint64_t> shape) {
  return absl::StrCat("{'descr': '", std::string(DescrOf(type)),
                      "', 'fortran_order': False, 'shape': (",
                      absl::StrJoin(shape, ", "),
                      shape.size() == 1 ? ",), }" : "), }");
}

// Zero dimensions count as one here: no reader needs to map a shape like (0,
// 2^63, 2^63).
absl::Status CheckBytes(const NpyHeader& header, uint64_t bytes) {
  for (const uint64_t dimension : header.shape) {
    if (__builtin_mul_overflow(bytes, dimension == 0 ? 1 : dimension, &bytes) ||
        bytes > kMaxArrayBytes) {
      return Malformed(absl::StrCat(
          "shape (", absl::StrJoin(header.shape, ", "), ") overflows"));
    }
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status CheckArrayBytes(const NpyHeader& header) {
  return CheckBytes(header, BytesOf(header.type));
}

size_t BytesOf(NpyType type) { return RowOf(type).bytes; }

std::string_view DescrOf(NpyType type) { return RowOf(type).descr; }

uint64_t NpyHeader::num_elements() const {
  uint64_t count = 1;
  for (const uint64_t dimension : shape) count *= dimension;
  return count;
}

absl::StatusOr<NpyLayout> ParseNpyLayout(absl::Span<const std::byte> bytes) {
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()),
                              bytes.size());
  const std::string_view magic(kMagic, kMagicBytes);
  if (text.substr(0, kMagicBytes) != magic.substr(0, text.size())) {
    return Malformed("the first bytes are not those of NumPy");
  }
  if (text.size() < kMagicBytes + 4) return Truncated(text.size());
  const int major = static_cast<unsigned char>(text[6]);
  if (major < 1 || major > 3) {
    return Malformed(absl::StrCat("format version ", major, " is unknown"));
  }
  const size_t length_bytes = major == 1 ? 2 : 4;
  const size_t begin = kMagicBytes + 2 + length_bytes;
  if (text.size() < begin) return Truncated(text.size());
  size_t length = 0;
  for (size_t i = 0; i < length_bytes; ++i) {
    length |= size_t{static_cast<unsigned char>(text[8 + i])} << (8 * i);
  }
  if (length > kMaxHeaderBytes) {
    return Malformed(absl::StrCat("it claims to be ", length, " B long"));
  }
  if (text.size() - begin < length) {
    return Truncated(text.size());
  }
  FGNN_ASSIGN_OR_RETURN(NpyLayout layout,
                        HeaderParser(text.substr(begin, length)).Parse());
  FGNN_RETURN_IF_ERROR(
      CheckBytes(layout.header, std::max<uint64_t>(layout.element_bytes, 1)));
  layout.header.data_offset = begin + length;
  return layout;
}

absl::StatusOr<NpyHeader> ParseNpyHeader(absl::Span<const std::byte> bytes) {
  FGNN_ASSIGN_OR_RETURN(NpyLayout layout, ParseNpyLayout(bytes));
  if (layout.text != NpyText::kNone) return UnknownType(layout.text_type);
  if (layout.fortran_order) return Malformed("the array is in Fortran order");
  return std::move(layout.header);
}

std::string MakeNpyHeader(NpyType type, absl::Span<const uint64_t> shape) {
  std::string text = HeaderText(type, shape);
  const size_t first = shape.empty() ? 0 : absl::StrCat(shape[0]).size();
  const size_t longest =
      text.size() + (shape.empty() ? 0 : kLongestDimension - first);
  constexpr size_t kPrefix = kMagicBytes + 4;
  // The one added byte is for the newline that ends the header.
  const size_t total = (kPrefix + longest + 1 + kDataAlignment - 1) /
                       kDataAlignment * kDataAlignment;
  const size_t length = total - kPrefix;
  text.resize(length - 1, ' ');
  const char prefix[4] = {1, 0, static_cast<char>(length & 0xff),
                          static_cast<char>(length >> 8)};
  return absl::StrCat(std::string(kMagic, kMagicBytes), std::string(prefix, 4),
                      text, "\n");
}

}  // namespace fgnn
