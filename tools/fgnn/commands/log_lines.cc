#include "tools/fgnn/commands/log_lines.h"

#include <algorithm>
#include <cctype>
#include <ctime>
#include <string_view>
#include <utility>

#include "absl/strings/str_format.h"

namespace fgnn {
namespace {

// In patterns 'd' stands for a digit and 'x' for a hexadecimal digit.
constexpr std::string_view kTime = "dddd-dd-ddTdd:dd:dd.dddZ";
constexpr std::string_view kJobId = "dddddddd-dddddd-xxxx";

// Returns the beginning of `text` that matches the pattern, else "".
std::string_view MatchStart(std::string_view text, std::string_view pattern) {
  if (text.size() < pattern.size()) return "";
  for (size_t i = 0; i < pattern.size(); ++i) {
    const auto c = static_cast<unsigned char>(text[i]);
    const bool fits = pattern[i] == 'd'   ? std::isdigit(c) != 0
                      : pattern[i] == 'x' ? std::isxdigit(c) != 0
                                          : text[i] == pattern[i];
    if (!fits) return "";
  }
  return text.substr(0, pattern.size());
}

// Returns the jobs that the line names as daemons do: "job
// 20260131-120000-12ab".
std::vector<std::string_view> JobsNamedIn(std::string_view line) {
  constexpr std::string_view kWord = "job ";
  std::vector<std::string_view> jobs;
  for (size_t at = line.find(kWord); at != std::string_view::npos;
       at = line.find(kWord, at)) {
    at += kWord.size();
    const std::string_view job = MatchStart(line.substr(at), kJobId);
    if (!job.empty()) jobs.push_back(job);
  }
  return jobs;
}

bool Says(std::string_view line, std::string_view words) {
  return line.find(words) != std::string_view::npos;
}

// Finds out which job the lines of a file belong to, one after the other.
class LineOwner {
 public:
  explicit LineOwner(std::string_view job) : job_(job) {}

  // Returns true if the next line with a time is the job's, or no single job's.
  bool IsOurs(std::string_view line) {
    const std::vector<std::string_view> named = JobsNamedIn(line);
    // A daemon that registers is attached to no job, or has outlived its
    // scheduler.
    if (Says(line, ": registered with scheduler ")) {
      attached_to_.clear();
    } else if (!named.empty() && Says(line, ": attached to job ")) {
      attached_to_ = named.front();
    } else if (Says(line, ": detached from job ")) {
      attached_to_.clear();
    }
    if (job_.empty()) return true;
    if (named.empty()) return attached_to_.empty() || attached_to_ == job_;
    return std::find(named.begin(), named.end(), job_) != named.end();
  }

 private:
  const std::string job_;
  std::string attached_to_;
};

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

std::vector<LogLine> SelectLogLines(std::istream& in,
                                    const LogSelection& selection) {
  std::vector<LogLine> lines;
  LineOwner owner(selection.job);
  std::string time;
  bool is_ours = true;
  for (std::string line; std::getline(in, line);) {
    const std::string_view own = MatchStart(line, kTime);
    if (!own.empty()) {
      time = own;
      is_ours = owner.IsOurs(line);
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
