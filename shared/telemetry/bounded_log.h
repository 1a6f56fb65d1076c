// Keeps the file that a daemon's stderr goes to from growing without a bound.
#ifndef FGNN_SHARED_TELEMETRY_BOUNDED_LOG_H_
#define FGNN_SHARED_TELEMETRY_BOUNDED_LOG_H_

#include <cstdint>
#include <filesystem>

namespace fgnn {

// The process whose stderr is the log moves the file to "<name>.1", replacing
// an older one. It then puts a new file in the place of its stderr and stdout.
// Everything written to these, also a crash's last words, is in one of the two
// files. Not thread-safe; other threads may write meanwhile.
class BoundedLog {
 public:
  static constexpr uint64_t kMostBytes = 16 << 20;

  explicit BoundedLog(std::filesystem::path log,
                      uint64_t most_bytes = kMostBytes);

  // Call it from time to time. Does nothing while the log is smaller than the
  // limit, or if stderr goes elsewhere. If no new file can be made, it logs the
  // reason, and logging goes on.
  void RotateIfLarge();

 private:
  const std::filesystem::path log_;
  const uint64_t most_bytes_;
  bool has_failed_ = false;  // Whether the reason was logged.
};

// Returns the path of the older part of a log, which no longer fits into it.
std::filesystem::path PredecessorOf(const std::filesystem::path& log);

}  // namespace fgnn

#endif  // FGNN_SHARED_TELEMETRY_BOUNDED_LOG_H_
