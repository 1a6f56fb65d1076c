#include "tools/fgnn/commands/log_lines.h"

#include <algorithm>
#include <cctype>
#include <ctime>
#include <map>
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

// Returns the text behind the time, the level and the program's name.
std::string_view MessageIn(std::string_view line) {
  const size_t name = line.find(": ");
  return name == std::string_view::npos ? "" : line.substr(name + 2);
}

std::string_view FirstWordOf(std::string_view text) {
  return text.substr(0, text.find(' '));
}

// Returns true if the line is the scheduler's last one of a job.
bool SaysEndOf(std::string_view job, std::string_view line) {
  const std::string begin = "job " + std::string(job) + ": ";
  const std::string_view message = MessageIn(line);
  if (!message.starts_with(begin)) return false;
  const std::string_view state = message.substr(begin.size());
  return state.starts_with("completed") || state.starts_with("failed") ||
         state.starts_with("cancelled");
}

// Returns true if the text has the name of this daemon: not "sampler.1" in
// "sampler.10".
bool HasWord(std::string_view text, std::string_view name) {
  const size_t at = text.find(name);
  if (at == std::string_view::npos) return false;
  const std::string_view behind = text.substr(at + name.size());
  return behind.empty() ||
         std::isalnum(static_cast<unsigned char>(behind.front())) == 0;
}

// Finds out which job the lines of a file belong to, one after the other.
class LineOwner {
 public:
  explicit LineOwner(std::string_view job) : job_(job) {}

  // Returns true if the next line with a time is the job's, or if no job was
  // named.
  bool IsOurs(std::string_view line) {
    const std::vector<std::string_view> named = JobsNamedIn(line);
    Follow(line, named);
    if (job_.empty()) return true;
    if (!named.empty()) {
      return std::find(named.begin(), named.end(), job_) != named.end();
    }
    if (!attached_to_.empty()) return attached_to_ == job_;
    return std::any_of(
        daemons_.begin(), daemons_.end(), [&](const auto& entry) {
          return entry.second == job_ && HasWord(MessageIn(line), entry.first);
        });
  }

 private:
  // Notes who is attached to which job from now on.
  void Follow(std::string_view line,
              const std::vector<std::string_view>& named) {
    // A daemon that registers is attached to no job, or has outlived its
    // scheduler.
    if (Says(line, ": registered with scheduler ") ||
        Says(line, ": detached from job ")) {
      attached_to_.clear();
    } else if (!named.empty() && Says(line, ": attached to job ")) {
      attached_to_ = named.front();
    } else if (constexpr std::string_view kAttached = "attached ";
               !named.empty() && MessageIn(line).starts_with(kAttached)) {
      const std::string_view daemon =
          FirstWordOf(MessageIn(line).substr(kAttached.size()));
      daemons_.insert_or_assign(std::string(daemon), named.front());
    } else if (!named.empty() && SaysEndOf(named.front(), line)) {
      std::erase_if(daemons_, [&](const auto& entry) {
        return entry.second == named.front();
      });
    }
  }

  const std::string job_;
  // Job that the daemon whose file this is is attached to; empty: none.
  std::string attached_to_;
  // Last job of each daemon of which the scheduler, whose file this is, speaks.
  std::map<std::string, std::string> daemons_;
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
  // Lines before the first time are of no job.
  bool is_ours = selection.job.empty();
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
