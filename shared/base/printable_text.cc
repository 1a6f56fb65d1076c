#include "shared/base/printable_text.h"

#include <algorithm>
#include <cstdint>

#include "absl/strings/str_cat.h"

namespace fgnn {
namespace {

uint8_t ByteAt(std::string_view text, size_t place) {
  return place < text.size() ? static_cast<uint8_t>(text[place]) : 0;
}

// Returns the number of bytes of the character at the start of `text`; 0: the
// bytes are not UTF-8. Overlong forms, surrogates and values beyond U+10FFFF
// are not UTF-8. The second byte is enough to detect them (RFC 3629, section
// 4).
size_t CharacterBytes(std::string_view text) {
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

// Whether the character is in U+0000 to U+001F or U+007F to U+009F.
bool IsControl(std::string_view character) {
  const uint8_t first = ByteAt(character, 0);
  return first < 0x20 || first == 0x7f ||
         (first == 0xc2 && ByteAt(character, 1) < 0xa0);
}

std::string Escaped(std::string_view bytes) {
  if (bytes == "\n") return "\\n";
  std::string escaped;
  for (const char byte : bytes) {
    absl::StrAppend(
        &escaped, "\\x",
        absl::Hex(static_cast<unsigned char>(byte), absl::kZeroPad2));
  }
  return escaped;
}

}  // namespace

std::string PrintableText(std::string_view text, size_t max_bytes) {
  std::string line;
  line.reserve(std::min(text.size(), max_bytes));
  while (!text.empty()) {
    const size_t valid = CharacterBytes(text);
    const std::string_view character =
        text.substr(0, std::max<size_t>(valid, 1));
    text.remove_prefix(character.size());
    if (valid > 0 && !IsControl(character)) {
      if (line.size() + character.size() > max_bytes) break;
      line += character;
      continue;
    }
    const std::string escaped = Escaped(character);
    if (line.size() + escaped.size() > max_bytes) break;
    line += escaped;
  }
  return line;
}

}  // namespace fgnn
