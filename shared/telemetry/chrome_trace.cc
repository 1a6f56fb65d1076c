#include "shared/telemetry/chrome_trace.h"

#include "nlohmann/json.hpp"

namespace fgnn {
namespace {

using Json = nlohmann::ordered_json;

std::string Name(const char* of, const std::string& name, uint32_t row) {
  const Json event = {{"name", of},
                      {"ph", "M"},
                      {"pid", 1},
                      {"tid", row},
                      {"args", {{"name", name}}}};
  return event.dump();
}

}  // namespace

std::string TraceTitle(const std::string& title) {
  return Name("process_name", title, 0);
}

std::string TraceRow(uint32_t row, const std::string& name) {
  return Name("thread_name", name, row);
}

std::string ToText(const TraceSpan& span) {
  Json args = {{"batch", span.batch}};
  if (span.remote_rows > 0) args["remote_rows"] = span.remote_rows;
  const Json event = {{"name", span.name},
                      {"cat", span.category},
                      {"ph", "X"},
                      {"ts", span.begin_seconds * 1e6},
                      {"dur", (span.end_seconds - span.begin_seconds) * 1e6},
                      {"pid", 1},
                      {"tid", span.row},
                      {"args", args}};
  return event.dump();
}

std::string ToText(const TraceMark& mark) {
  const Json event = {{"name", mark.name},
                      {"ph", "i"},
                      {"s", "g"},
                      {"ts", mark.seconds * 1e6},
                      {"pid", 1},
                      {"tid", 0},
                      {"args", {{"batch", mark.batch}}}};
  return event.dump();
}

std::string ToText(const ChromeTrace& trace) {
  std::string text = "[\n" + TraceTitle(trace.title);
  const auto add = [&text](const std::string& event) { text += ",\n" + event; };
  for (uint32_t row = 0; row < trace.rows.size(); ++row) {
    add(TraceRow(row, trace.rows[row]));
  }
  for (const TraceSpan& span : trace.spans) add(ToText(span));
  for (const TraceMark& mark : trace.marks) add(ToText(mark));
  return text + "\n]\n";
}

}  // namespace fgnn
