// Log lines on stderr: "2026-01-31T12:00:00.123Z I sampler.0: message". A line
// about a job has a field for it: "2026-01-31T12:00:00.123Z I
// job=20260131-115900-7f3a sampler.0: message". Thread-safe.
//
//   const LogJob about(job_id);
//   LogInfo("attached to job {} with {} slots", job_id, num_slots);
#ifndef FGNN_SHARED_TELEMETRY_LOG_H_
#define FGNN_SHARED_TELEMETRY_LOG_H_

#include <fmt/core.h>

#include <string>
#include <string_view>
#include <utility>

namespace fgnn {

enum class LogLevel { kInfo, kWarning, kError };

// Sets the name of the process in its lines. Call it once, at the start of
// main. Earlier lines have no name.
void InitLog(std::string_view process_name);

// The job that lines of the thread are about, from its construction to its end.
// Within its life another one may begin and end. It stays on one thread.
class LogJob {
 public:
  // An empty id: the lines are about no job.
  explicit LogJob(std::string job_id);
  ~LogJob();
  LogJob(const LogJob&) = delete;
  LogJob& operator=(const LogJob&) = delete;

  // Returns the job that a line of this thread is about now; "": none.
  static std::string Current();

 private:
  const std::string job_id_;
  const LogJob* const before_;  // The thread's LogJob around this one.
};

// Sets the job that lines of threads without a LogJob are about; "": none. A
// program calls it that works on one job at a time.
void SetLogJob(std::string job_id);

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
