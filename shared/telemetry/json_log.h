// Log lines as JSON, for collectors of logs.
#ifndef FGNN_SHARED_TELEMETRY_JSON_LOG_H_
#define FGNN_SHARED_TELEMETRY_JSON_LOG_H_

#include <chrono>
#include <string>
#include <string_view>

namespace fgnn {

// Makes the lines of this process JSON objects from now on; see JsonLogLine().
// Call it after InitLog(), before other threads log.
void LogAsJson();

// Returns the time of log lines for Unix milliseconds.
std::string LogTime(int64_t unix_ms);

// Returns a line without its newline, in ASCII:
//
//   {"time":"2026-01-31T12:00:00.123Z","level":"warning","process":"trainer.0",
//    "job":"20260131-115900-7f3a","batch":17,"message":"job 2026…: batch 17:
//    …"}
//
// An empty `job` is left out. `batch` is there if the message begins with the
// job and goes on with ": batch N". All daemons begin their lines about a batch
// so. Together the two name a batch in every daemon.
std::string JsonLogLine(std::chrono::system_clock::time_point time,
                        std::string_view level, std::string_view process,
                        std::string_view job, std::string_view message);

}  // namespace fgnn

#endif  // FGNN_SHARED_TELEMETRY_JSON_LOG_H_
