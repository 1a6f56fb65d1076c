// Tells text in UTF-8 from other bytes (RFC 3629, section 4).
#ifndef FGNN_SHARED_BASE_UTF8_H_
#define FGNN_SHARED_BASE_UTF8_H_

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "absl/status/status.h"

namespace fgnn {

// Returns the byte at `place`; 0 behind the end of the text.
inline uint8_t ByteAt(std::string_view text, size_t place) {
  return place < text.size() ? static_cast<uint8_t>(text[place]) : 0;
}

// Returns the number of bytes, 1 to 4, of the character at the start of `text`;
// 0: the bytes are not UTF-8. Overlong forms, surrogates and values beyond
// U+10FFFF are not UTF-8.
size_t Utf8CharacterBytes(std::string_view text);

// Returns the place of the first byte that is not UTF-8; npos: there is none.
size_t FindNotUtf8(std::string_view text);

// InvalidArgument, naming `path` and the line: the file's text is not UTF-8.
absl::Status CheckUtf8File(std::string_view path, std::string_view text);

}  // namespace fgnn

#endif  // FGNN_SHARED_BASE_UTF8_H_
