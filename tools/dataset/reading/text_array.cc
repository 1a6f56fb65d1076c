#include "tools/dataset/reading/text_array.h"

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "shared/base/files/file.h"
#include "shared/base/status.h"
#include "shared/base/utf8.h"
#include "shared/graph/npy_layout.h"

namespace fgnn {
namespace {

// Appends a code point. Values that are none become bytes that are not UTF-8.
void AppendUtf8(uint32_t code, std::string* text) {
  const auto byte = [text](uint32_t value) {
    text->push_back(static_cast<char>(value));
  };
  if (code < 0x80) {
    byte(code);
  } else if (code < 0x800) {
    byte(0xc0 | code >> 6);
    byte(0x80 | (code & 0x3f));
  } else if (code < 0x10000) {
    byte(0xe0 | code >> 12);
    byte(0x80 | (code >> 6 & 0x3f));
    byte(0x80 | (code & 0x3f));
  } else if (code < 0x110000) {
    byte(0xf0 | code >> 18);
    byte(0x80 | (code >> 12 & 0x3f));
    byte(0x80 | (code >> 6 & 0x3f));
    byte(0x80 | (code & 0x3f));
  } else {
    byte(0xff);
  }
}

// Returns the element without the zeros behind it.
std::string TextOf(absl::Span<const std::byte> element, NpyText kind) {
  std::string text;
  if (kind == NpyText::kBytes) {
    text.assign(reinterpret_cast<const char*>(element.data()), element.size());
  } else {
    for (size_t i = 0; i + sizeof(uint32_t) <= element.size();
         i += sizeof(uint32_t)) {
      uint32_t code = 0;
      std::memcpy(&code, element.data() + i, sizeof(code));
      AppendUtf8(code, &text);
    }
  }
  text.erase(text.find_last_not_of('\0') + 1);
  return text;
}

}  // namespace

bool IsTextArray(const std::filesystem::path& path) {
  const absl::StatusOr<MappedFile> file = MappedFile::Open(path);
  if (!file.ok()) return false;
  const absl::StatusOr<NpyLayout> layout = ParseNpyLayout(file->bytes());
  return layout.ok() && layout->text != NpyText::kNone;
}

absl::StatusOr<std::vector<std::string>> ReadTextArray(
    const std::filesystem::path& path) {
  FGNN_ASSIGN_OR_RETURN(const MappedFile file, MappedFile::Open(path));
  const absl::Span<const std::byte> bytes = file.bytes();
  const absl::StatusOr<NpyLayout> layout = ParseNpyLayout(bytes);
  if (!layout.ok()) return Annotate(layout.status(), path.string());
  const uint64_t count = layout->header.num_elements();
  if (layout->text == NpyText::kNone || layout->header.shape.size() != 1) {
    return absl::InvalidArgumentError(
        absl::StrCat(path.string(), ": is not a list of texts"));
  }
  if (count > 0 && layout->element_bytes == 0) {
    return absl::InvalidArgumentError(
        absl::StrCat(path.string(), ": its texts have no characters"));
  }
  if (bytes.size() - layout->header.data_offset <
      count * layout->element_bytes) {
    return absl::DataLossError(
        absl::StrCat(path.string(), ": is truncated; write it again"));
  }
  std::vector<std::string> texts;
  for (uint64_t i = 0; i < count; ++i) {
    const uint64_t begin =
        layout->header.data_offset + i * layout->element_bytes;
    texts.push_back(
        TextOf(bytes.subspan(begin, layout->element_bytes), layout->text));
    if (FindNotUtf8(texts.back()) != std::string_view::npos) {
      return absl::InvalidArgumentError(
          absl::StrCat(path.string(), ": element ", i, " is not UTF-8 text"));
    }
  }
  return texts;
}

}  // namespace fgnn
