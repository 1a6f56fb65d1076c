#include "tools/fgnn/chrome_trace.h"

#include <utility>

#include "nlohmann/json.hpp"

namespace fgnn {
namespace {

using Json = nlohmann::ordered_json;

Json Name(const char* of, const std::string& name, size_t row) {
  return {{"name", of},
          {"ph", "M"},
          {"pid", 1},
          {"tid", row},
          {"args", {{"name", name}}}};
}

}  // namespace

std::string ToJsonText(const ChromeTrace& trace) {
  Json events = Json::array();
  events.push_back(Name("process_name", trace.title, 0));
  for (size_t row = 0; row < trace.rows.size(); ++row) {
    events.push_back(Name("thread_name", trace.rows[row], row));
  }
  for (const TraceSpan& span : trace.spans) {
    events.push_back({{"name", span.name},
                      {"cat", span.category},
                      {"ph", "X"},
                      {"ts", span.begin_seconds * 1e6},
                      {"dur", (span.end_seconds - span.begin_seconds) * 1e6},
                      {"pid", 1},
                      {"tid", span.row},
                      {"args", {{"batch", span.batch}}}});
  }
  for (const TraceMark& mark : trace.marks) {
    events.push_back({{"name", mark.name},
                      {"ph", "i"},
                      {"s", "g"},
                      {"ts", mark.seconds * 1e6},
                      {"pid", 1},
                      {"tid", 0}});
  }
  const Json document = {{"traceEvents", std::move(events)},
                         {"displayTimeUnit", "ms"}};
  return document.dump() + "\n";
}

}  // namespace fgnn
