// Log lines on stderr: "2026-01-31T12:00:00.123Z I sampler.0: message".
// Thread-safe.
//
//   LogInfo("attached to job {} with {} slots", job_id, num_slots);
#ifndef FGNN_SHARED_TELEMETRY_LOG_H_
#define FGNN_SHARED_TELEMETRY_LOG_H_

#include <fmt/core.h>

#include <string_view>
#include <utility>

namespace fgnn {

enum class LogLevel { kInfo, kWarning, kError };

// Sets the name of the process in its lines. Call it once, at the start of
// main. Earlier lines have no name.
void InitLog(std::string_view process_name);

// Writes one line: `message` as PrintableText(). A message may quote other
// people's text, which must not control a terminal that shows the log.
void LogLine(LogLevel level, std::string_view message);

template <typename... Args>
void LogInfo(fmt::format_string<Args...> format, Args&&... args) {
  LogLine(LogLevel::kInfo, fmt::format(format, std::forward<Args>(args)...));
}
template <typename... Args>
void LogWarning(fmt::format_string<Args...> format, Args&&... args) {
  LogLine(LogLevel::kWarning, fmt::format(format, std::forward<Args>(args)...));
}
template <typename... Args>
void LogError(fmt::format_string<Args...> format, Args&&... args) {
  LogLine(LogLevel::kError, fmt::format(format, std::forward<Args>(args)...));
}

}  // namespace fgnn

#endif  // FGNN_SHARED_TELEMETRY_LOG_H_
