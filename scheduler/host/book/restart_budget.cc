#include "scheduler/host/book/restart_budget.h"

#include <algorithm>

namespace fgnn {

bool RestartBudget::RecordDeath(Deadline now) {
  deaths_.push_back(now);
  while (now - deaths_.front() >= kRestartWindow ||
         deaths_.size() > size_t{limit_} + 1) {
    deaths_.pop_front();
  }
  return deaths_.size() <= limit_;
}

std::chrono::milliseconds RestartBudget::Backoff() const {
  constexpr std::chrono::milliseconds kLongest{5'000};
  if (deaths_.size() <= 1) return std::chrono::milliseconds(0);
  const size_t doublings = std::min<size_t>(deaths_.size() - 2, 10);
  return std::min(kLongest, std::chrono::milliseconds(100) *
                                static_cast<int64_t>(size_t{1} << doublings));
}

}  // namespace fgnn
