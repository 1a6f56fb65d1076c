// The log files of a service, in one order.
#ifndef FGNN_TOOLS_FGNN_SERVICE_LOG_LINES_H_
#define FGNN_TOOLS_FGNN_SERVICE_LOG_LINES_H_

#include <cstdint>
#include <istream>
#include <string>
#include <vector>

namespace fgnn {

struct LogLine {
  std::string time;  // "2026-01-31T12:00:00.123Z"
  std::string text;  // The whole line.
};

// The time stamp of log lines for Unix milliseconds.
std::string LogTime(int64_t unix_ms);

// What to select; what is empty does not limit.
struct LogSelection {
  std::string from;  // <= time
  std::string to;    // >= time
  std::string job;   // Its whole id.
};

// Lines of one file. A line without a time (a library's words, a crash) belongs
// to the one before it. One that names jobs is theirs; another one that of a
// daemon that is attached to a job, that job's; else everybody's.
std::vector<LogLine> SelectLogLines(std::istream& in,
                                    const LogSelection& selection);

// By time; lines of equal time stay in their order.
void SortByTime(std::vector<LogLine>& lines);

}  // namespace fgnn

#endif  // FGNN_TOOLS_FGNN_SERVICE_LOG_LINES_H_
