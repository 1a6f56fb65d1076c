#include "shared/base/printable_text.h"

#include <algorithm>
#include <cstdint>
#include <iterator>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "shared/base/utf8.h"

namespace fgnn {
namespace {

// Whether the character is in U+0000 to U+001F or U+007F to U+009F.
bool IsControl(std::string_view character) {
  const uint8_t first = ByteAt(character, 0);
  return first < 0x20 || first == 0x7f ||
         (first == 0xc2 && ByteAt(character, 1) < 0xa0);
}

constexpr std::string_view kFormulaSigns[] = {"=",  "+",  "-",  "@",  "\t",
                                              "\n", "＝", "＋", "－", "＠"};

struct CodePoints {
  uint32_t first;
  uint32_t last;
};

// Characters of Unicode 15 that are Cf, Zl, Zp or
// Default_Ignorable_Code_Point.
constexpr CodePoints kUnseen[] = {
    {0xad, 0xad},       {0x34f, 0x34f},     {0x600, 0x605},
    {0x61c, 0x61c},     {0x6dd, 0x6dd},     {0x70f, 0x70f},
    {0x890, 0x891},     {0x8e2, 0x8e2},     {0x115f, 0x1160},
    {0x17b4, 0x17b5},   {0x180b, 0x180f},   {0x200b, 0x200f},
    {0x2028, 0x202e},   {0x2060, 0x206f},   {0x3164, 0x3164},
    {0xfe00, 0xfe0f},   {0xfeff, 0xfeff},   {0xffa0, 0xffa0},
    {0xfff0, 0xfffb},   {0x110bd, 0x110bd}, {0x110cd, 0x110cd},
    {0x13430, 0x1343f}, {0x1bca0, 0x1bca3}, {0x1d173, 0x1d17a},
    {0xe0000, 0xe0fff}};

// Returns the number of a character of valid UTF-8.
uint32_t CodePointOf(std::string_view character) {
  const uint32_t first = ByteAt(character, 0);
  if (character.size() == 1) return first;
  uint32_t code_point = first & (0x7fU >> character.size());
  for (size_t i = 1; i < character.size(); ++i) {
    code_point = code_point << 6 | (ByteAt(character, i) & 0x3fU);
  }
  return code_point;
}

// Returns whether a character of valid UTF-8 reorders text or is not seen.
bool IsUnseen(std::string_view character) {
  if (character.size() == 1) return false;
  const uint32_t code_point = CodePointOf(character);
  return std::any_of(std::begin(kUnseen), std::end(kUnseen),
                     [code_point](const CodePoints& unseen) {
                       return unseen.first <= code_point &&
                              code_point <= unseen.last;
                     });
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

// Escapes all but tabs and line breaks.
std::string PrintableLines(std::string_view text) {
  std::string lines;
  while (true) {
    const size_t end = text.find_first_of("\t\n");
    lines += PrintableText(text.substr(0, end));
    if (end == std::string_view::npos) return lines;
    lines.push_back(text[end]);
    text.remove_prefix(end + 1);
  }
}

// Returns whether a spreadsheet may take the cell for a formula. Some read the
// wide forms of the signs too.
bool IsFormula(std::string_view cell) {
  const bool begins = std::any_of(
      std::begin(kFormulaSigns), std::end(kFormulaSigns),
      [cell](std::string_view sign) { return cell.starts_with(sign); });
  if (!begins || cell.size() == 1) return false;
  double number = 0;
  return cell.find_first_not_of("+-.0123456789eE") != std::string_view::npos ||
         !absl::SimpleAtod({cell.data(), cell.size()}, &number);
}

// In many countries a semicolon begins a cell.
std::string WithoutFormulas(const std::string& text) {
  std::string safe;
  std::string_view left = text;
  while (true) {
    const size_t end = left.find(';');
    const std::string_view cell = left.substr(0, end);
    if (IsFormula(cell)) safe.push_back('\'');
    safe += cell;
    if (end == std::string_view::npos) return safe;
    safe.push_back(';');
    left.remove_prefix(end + 1);
  }
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
    if (valid > 0 && !IsControl(character) && !IsUnseen(character)) {
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

void AppendCsvField(std::string_view text, std::string* line) {
  const std::string safe = WithoutFormulas(PrintableLines(text));
  if (safe.find_first_of(",\"\n") == std::string::npos) {
    line->append(safe);
    return;
  }
  line->push_back('"');
  for (const char c : safe) {
    if (c == '"') line->push_back('"');
    line->push_back(c);
  }
  line->push_back('"');
}

}  // namespace fgnn
