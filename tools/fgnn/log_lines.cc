#include "tools/fgnn/log_lines.h"

#include <algorithm>
#include <cctype>
#include <ctime>
#include <utility>

#include "absl/strings/str_format.h"

namespace fgnn {
namespace {

// "2026-01-31T12:00:00.123Z" at the start of a line, or "".
std::string TimeOf(const std::string& line) {
  const std::string pattern = "dddd-dd-ddTdd:dd:dd.dddZ";
  if (line.size() < pattern.size()) return "";
  for (size_t i = 0; i < pattern.size(); ++i) {
    const auto c = static_cast<unsigned char>(line[i]);
    const bool fits =
        pattern[i] == 'd' ? std::isdigit(c) != 0 : line[i] == pattern[i];
    if (!fits) return "";
  }
  return line.substr(0, pattern.size());
}

}  // namespace

std::string LogTime(int64_t unix_ms) {
  const std::time_t seconds = unix_ms / 1000;
  std::tm utc{};
  if (::gmtime_r(&seconds, &utc) == nullptr) return "";
  char text[32];
  const size_t size =
      std::strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%S", &utc);
  return std::string(text, size) + absl::StrFormat(".%03dZ", unix_ms % 1000);
}

std::vector<LogLine> SelectLogLines(std::istream& in, const std::string& from,
                                    const std::string& to) {
  std::vector<LogLine> lines;
  std::string time;
  for (std::string line; std::getline(in, line);) {
    if (std::string own = TimeOf(line); !own.empty()) time = std::move(own);
    const bool selected =
        (from.empty() || time >= from) && (to.empty() || time <= to);
    if (selected) lines.push_back({time, std::move(line)});
  }
  return lines;
}

void SortByTime(std::vector<LogLine>& lines) {
  std::stable_sort(
      lines.begin(), lines.end(),
      [](const LogLine& a, const LogLine& b) { return a.time < b.time; });
}

}  // namespace fgnn
