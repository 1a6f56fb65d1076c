#include "shared/telemetry/line_limit.h"

#include <utility>

namespace fgnn {

std::optional<uint64_t> LineLimit::Ask(Deadline now) {
  const MutexLock lock(&mutex_);
  if (!period_start_.has_value() || now - *period_start_ >= kPeriod) {
    period_start_ = now;
    lines_ = 0;
  }
  if (lines_ >= kMostLines) {
    ++left_out_;
    return std::nullopt;
  }
  ++lines_;
  return std::exchange(left_out_, 0);
}

}  // namespace fgnn
