// Merges the log files of a service into one order.
#ifndef FGNN_TOOLS_FGNN_COMMANDS_LOG_LINES_H_
#define FGNN_TOOLS_FGNN_COMMANDS_LOG_LINES_H_

#include <cstdint>
#include <istream>
#include <string>
#include <vector>

namespace fgnn {

struct LogLine {
  std::string time;  // "2026-01-31T12:00:00.123Z"
  std::string text;  // The whole line.
};

// The selection of lines. Empty fields do not limit it.
struct LogSelection {
  std::string from;  // Earliest time.
  std::string to;    // Latest time.
  std::string job;   // The job's whole id.
};

// Returns the selected lines of one file, as text or as JSON. A line is about
// the job of its field (LogJob). A line without a time (a library's message, a
// crash) belongs to the line before it.
std::vector<LogLine> SelectLogLines(std::istream& in,
                                    const LogSelection& selection);

// Sorts by time; lines of equal time stay in their order.
void SortByTime(std::vector<LogLine>& lines);

}  // namespace fgnn

#endif  // FGNN_TOOLS_FGNN_COMMANDS_LOG_LINES_H_
