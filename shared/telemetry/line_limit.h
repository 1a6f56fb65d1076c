// Limits the lines of a log that strangers can cause.
#ifndef FGNN_SHARED_TELEMETRY_LINE_LIMIT_H_
#define FGNN_SHARED_TELEMETRY_LINE_LIMIT_H_

#include <cstdint>
#include <optional>

#include "absl/base/thread_annotations.h"
#include "shared/base/clock.h"
#include "shared/base/threads/mutex.h"

namespace fgnn {

// Thread-safe.
class LineLimit {
 public:
  static constexpr uint64_t kMostLines = 20;  // In a period.
  static constexpr std::chrono::seconds kPeriod{10};

  // Returns how many lines were left out since the last one that was written,
  // if a line may be written at `now`; nullopt: it is to be left out.
  std::optional<uint64_t> Ask(Deadline now);

 private:
  Mutex mutex_;
  std::optional<Deadline> period_start_ ABSL_GUARDED_BY(mutex_);
  uint64_t lines_ ABSL_GUARDED_BY(mutex_) = 0;     // In this period.
  uint64_t left_out_ ABSL_GUARDED_BY(mutex_) = 0;  // Since the last line.
};

}  // namespace fgnn

#endif  // FGNN_SHARED_TELEMETRY_LINE_LIMIT_H_
