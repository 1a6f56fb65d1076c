// Makes text from outside (a log's line, a name, a quoted value) safe to show.
#ifndef FGNN_SHARED_BASE_PRINTABLE_TEXT_H_
#define FGNN_SHARED_BASE_PRINTABLE_TEXT_H_

#include <cstddef>
#include <string>
#include <string_view>

namespace fgnn {

// Returns `text` as one line of valid UTF-8, which a protobuf `string` may hold
// and a terminal shows without obeying it, in the order of its characters and
// with all of them visible. Control characters, bytes that are not UTF-8, and
// characters that reorder text or are not seen (Unicode's Cf, Zl, Zp and
// Default_Ignorable_Code_Point) are written as in C ("\n", "\x1b"). The result
// has at most `max_bytes` bytes. A longer result is cut between two characters.
std::string PrintableText(std::string_view text,
                          size_t max_bytes = std::string::npos);

// Appends `text` to a line of CSV as RFC 4180 writes it: quoted if it has a
// separator, a quote or a line break. What PrintableText() escapes is escaped,
// but for tabs and line breaks. Text that a spreadsheet would run as a formula
// gets an apostrophe before it. That is text which begins with =, +, -, @, a
// tab or a line break, also behind a semicolon, and is no number.
void AppendCsvField(std::string_view text, std::string* line);

}  // namespace fgnn

#endif  // FGNN_SHARED_BASE_PRINTABLE_TEXT_H_
