// A timeline as chrome://tracing and https://ui.perfetto.dev show it.
#ifndef FGNN_TOOLS_FGNN_CHROME_TRACE_H_
#define FGNN_TOOLS_FGNN_CHROME_TRACE_H_

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
};

struct TraceMark {  // A line over all rows.
  std::string name;
  double seconds = 0;
};

struct ChromeTrace {
  std::string title;
  std::vector<std::string> rows;  // Their names, from the top.
  std::vector<TraceSpan> spans;
  std::vector<TraceMark> marks;
};

// One JSON document (Trace Event Format): complete events, in microseconds.
std::string ToJsonText(const ChromeTrace& trace);

}  // namespace fgnn

#endif  // FGNN_TOOLS_FGNN_CHROME_TRACE_H_
