#include "scheduler/store/job.h"

#include <chrono>
#include <ctime>

#include "absl/strings/str_format.h"

namespace fgnn {

int64_t UnixMilliseconds() {
  return std::chrono::duration_cast<std::chrono::milliseconds>(
             std::chrono::system_clock::now().time_since_epoch())
      .count();
}

std::string MakeJobId(int64_t submitted_ms, uint64_t salt) {
  const std::time_t seconds = submitted_ms / 1000;
  std::tm utc{};
  ::gmtime_r(&seconds, &utc);
  return absl::StrFormat("%04d%02d%02d-%02d%02d%02d-%04x", utc.tm_year + 1900,
                         utc.tm_mon + 1, utc.tm_mday, utc.tm_hour, utc.tm_min,
                         utc.tm_sec, static_cast<unsigned>(salt & 0xffff));
}

}  // namespace fgnn
