// Makes text from outside (a log's line, a name, a quoted value) safe to show.
#ifndef FGNN_SHARED_BASE_PRINTABLE_TEXT_H_
#define FGNN_SHARED_BASE_PRINTABLE_TEXT_H_

#include <cstddef>
#include <string>
#include <string_view>

namespace fgnn {

// Returns `text` as one line of valid UTF-8, which a protobuf `string` may hold
// and a terminal shows without obeying it. Control characters and bytes that
// are not UTF-8 are written as in C ("\n", "\x1b"). The result has at most
// `max_bytes` bytes. A longer result is cut between two characters.
std::string PrintableText(std::string_view text,
                          size_t max_bytes = std::string::npos);

}  // namespace fgnn

#endif  // FGNN_SHARED_BASE_PRINTABLE_TEXT_H_
