// Parses numbers in text. Each function reads the whole of `text`, apart from
// blanks around it, or returns false.
#ifndef FGNN_TOOLS_DATASET_READING_NUMBER_TEXT_H_
#define FGNN_TOOLS_DATASET_READING_NUMBER_TEXT_H_

#include <charconv>
#include <string_view>
#include <system_error>

namespace fgnn {

inline std::string_view TrimBlanks(std::string_view text) {
  constexpr std::string_view kBlanks = " \t\r\n\v\f";
  const size_t first = text.find_first_not_of(kBlanks);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kBlanks) - first + 1);
}

template <typename Number>
bool ParseNumber(std::string_view text, Number* number) {
  text = TrimBlanks(text);
  if (!text.empty() && text.front() == '+') text.remove_prefix(1);
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, *number);
  return error == std::errc() && stop == end && !text.empty();
}

}  // namespace fgnn

#endif  // FGNN_TOOLS_DATASET_READING_NUMBER_TEXT_H_
