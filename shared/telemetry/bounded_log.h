// Keeps the file that a daemon's stderr goes to from growing without a bound.
#ifndef FGNN_SHARED_TELEMETRY_BOUNDED_LOG_H_
#define FGNN_SHARED_TELEMETRY_BOUNDED_LOG_H_

#include <cstdint>
#include <filesystem>

namespace fgnn {

// The process whose stderr is the log moves it to "<name>.1", whose predecessor
// goes, and puts a new file in the place of its stderr and stdout. Whatever is
// written to these, a crash's last words too, lands in one of the two files.
// Not thread-safe; other threads may write meanwhile.
class BoundedLog {
 public:
  static constexpr uint64_t kMostBytes = 16 << 20;

  explicit BoundedLog(std::filesystem::path log,
                      uint64_t most_bytes = kMostBytes);

  // To be called every now and then. Nothing happens while the log is smaller,
  // or where stderr goes elsewhere. Where no new file can be made the log says
  // why and goes on.
  void RotateIfLarge();

 private:
  const std::filesystem::path log_;
  const uint64_t most_bytes_;
  bool has_failed_ = false;  // The log has said why.
};

// Where the part of a log goes that does not fit into it any more.
std::filesystem::path PredecessorOf(const std::filesystem::path& log);

}  // namespace fgnn

#endif  // FGNN_SHARED_TELEMETRY_BOUNDED_LOG_H_
