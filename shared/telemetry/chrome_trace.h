// A timeline for chrome://tracing and https://ui.perfetto.dev (Trace Event
// Format). It is one JSON array of events, which may be read while it grows.
#ifndef FGNN_SHARED_TELEMETRY_CHROME_TRACE_H_
#define FGNN_SHARED_TELEMETRY_CHROME_TRACE_H_

#include <cstdint>
#include <string>
#include <vector>

namespace fgnn {

struct TraceSpan {
  uint32_t row = 0;
  std::string name;
  std::string category;  // Spans of one category have one colour.
  uint64_t batch = 0;
  double begin_seconds = 0;
  double end_seconds = 0;
  uint64_t remote_rows = 0;  // Number of rows that other hosts sent.
};

struct TraceMark {  // A mark that is drawn across all rows.
  std::string name;
  double seconds = 0;
  uint64_t batch = 0;  // Number of the last batch before the mark.
};

// Each function returns one event: a JSON object on one line without a newline.
std::string TraceTitle(const std::string& title);
std::string TraceRow(uint32_t row, const std::string& name);
std::string ToText(const TraceSpan& span);
std::string ToText(const TraceMark& mark);

struct ChromeTrace {
  std::string title;
  std::vector<std::string> rows;  // Names of the rows, from the top.
  std::vector<TraceSpan> spans;
  std::vector<TraceMark> marks;
};

// Returns the whole array, one event on each line.
std::string ToText(const ChromeTrace& trace);

}  // namespace fgnn

#endif  // FGNN_SHARED_TELEMETRY_CHROME_TRACE_H_
