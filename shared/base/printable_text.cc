#include "shared/base/printable_text.h"

#include <algorithm>
#include <cstdint>

#include "absl/strings/str_cat.h"
#include "shared/base/utf8.h"

namespace fgnn {
namespace {

uint8_t ByteAt(std::string_view text, size_t place) {
  return place < text.size() ? static_cast<uint8_t>(text[place]) : 0;
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
    const size_t valid = Utf8CharacterBytes(text);
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
