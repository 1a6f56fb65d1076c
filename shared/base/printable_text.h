// Text of strangers (a log's line, a name, a quoted value) for people to read.
#ifndef FGNN_SHARED_BASE_PRINTABLE_TEXT_H_
#define FGNN_SHARED_BASE_PRINTABLE_TEXT_H_

#include <cstddef>
#include <string>
#include <string_view>

namespace fgnn {

// `text` as one line of valid UTF-8 that a terminal shows and does not obey:
// what a protobuf `string` may hold. Control characters and bytes that are no
// UTF-8 are written as in C ("\n", "\x1b"). The result has at most `max_bytes`
// bytes; a longer one is cut between two characters.
std::string PrintableText(std::string_view text,
                          size_t max_bytes = std::string::npos);

}  // namespace fgnn

#endif  // FGNN_SHARED_BASE_PRINTABLE_TEXT_H_
