#include "tools/fgnn/commands/log_lines.h"

#include <algorithm>
#include <cctype>
#include <string_view>
#include <utility>

#include "nlohmann/json.hpp"

namespace fgnn {
namespace {

// In the pattern 'd' stands for a digit.
constexpr std::string_view kTime = "dddd-dd-ddTdd:dd:dd.dddZ";

// Returns the time with which the text begins, else "".
std::string_view TimeIn(std::string_view text) {
  if (text.size() < kTime.size()) return "";
  for (size_t i = 0; i < kTime.size(); ++i) {
    const bool fits = kTime[i] == 'd'
                          ? std::isdigit(static_cast<unsigned char>(text[i]))
                          : text[i] == kTime[i];
    if (!fits) return "";
  }
  return text.substr(0, kTime.size());
}

struct LineHead {
  std::string time;  // Empty: the line has none.
  std::string job;   // Empty: the line is about none.
};

// Reads "{"time":…,"process":…,"job":…}" (see JsonLogLine()). Lines of the
// audit log are of no process.
LineHead HeadOfJson(const std::string& line) {
  const auto json = nlohmann::json::parse(line, nullptr,
                                          /*allow_exceptions=*/false);
  const auto text_of = [&json](const char* key) {
    const auto found = json.find(key);
    return found != json.end() && found->is_string() ? found->get<std::string>()
                                                     : "";
  };
  if (!json.is_object() || !json.contains("process")) return {};
  return {std::string(TimeIn(text_of("time"))), text_of("job")};
}

// Reads "TIME LEVEL job=ID NAME: …" (see LogLine()).
LineHead HeadOf(const std::string& line) {
  if (line.starts_with('{')) return HeadOfJson(line);
  constexpr std::string_view kLevel = " I ";
  constexpr std::string_view kJob = "job=";
  LineHead head = {std::string(TimeIn(line)), ""};
  if (head.time.empty() || line.size() < kTime.size() + kLevel.size()) {
    return head;
  }
  const std::string_view fields =
      std::string_view(line).substr(kTime.size() + kLevel.size());
  if (fields.starts_with(kJob)) {
    head.job = fields.substr(kJob.size(), fields.find(' ') - kJob.size());
  }
  return head;
}

}  // namespace

std::vector<LogLine> SelectLogLines(std::istream& in,
                                    const LogSelection& selection) {
  std::vector<LogLine> lines;
  std::string time;
  // Lines before the first time are of no job.
  bool is_ours = selection.job.empty();
  for (std::string line; std::getline(in, line);) {
    LineHead head = HeadOf(line);
    if (!head.time.empty()) {
      time = std::move(head.time);
      is_ours = selection.job.empty() || head.job == selection.job;
    }
    const bool selected = is_ours &&
                          (selection.from.empty() || time >= selection.from) &&
                          (selection.to.empty() || time <= selection.to);
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
