#include "shared/base/utf8.h"

#include <algorithm>
#include <cstdint>
#include <string>

#include "absl/strings/str_cat.h"

namespace fgnn {
namespace {}  // namespace

// The second byte is enough to detect overlong forms, surrogates and values
// that are too high.
size_t Utf8CharacterBytes(std::string_view text) {
  const uint8_t first = ByteAt(text, 0);
  if (first < 0x80) return 1;
  if (first < 0xc2 || first > 0xf4) return 0;
  const size_t bytes = first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;
  const uint8_t least = first == 0xe0 ? 0xa0 : first == 0xf0 ? 0x90 : 0x80;
  const uint8_t most = first == 0xed ? 0x9f : first == 0xf4 ? 0x8f : 0xbf;
  if (ByteAt(text, 1) < least || ByteAt(text, 1) > most) return 0;
  for (size_t i = 2; i < bytes; ++i) {
    if (ByteAt(text, i) < 0x80 || ByteAt(text, i) > 0xbf) return 0;
  }
  return bytes;
}

size_t FindNotUtf8(std::string_view text) {
  for (size_t place = 0; place < text.size();) {
    const size_t bytes = Utf8CharacterBytes(text.substr(place));
    if (bytes == 0) return place;
    place += bytes;
  }
  return std::string_view::npos;
}

absl::Status CheckUtf8File(std::string_view path, std::string_view text) {
  const size_t place = FindNotUtf8(text);
  if (place == std::string_view::npos) return absl::OkStatus();
  const auto line = std::count(text.begin(), text.begin() + place, '\n') + 1;
  return absl::InvalidArgumentError(absl::StrCat(
      std::string(path), ":", line, ": byte 0x",
      absl::Hex(static_cast<uint8_t>(text[place]), absl::kZeroPad2),
      " is not UTF-8 text; save the file as UTF-8"));
}

}  // namespace fgnn
