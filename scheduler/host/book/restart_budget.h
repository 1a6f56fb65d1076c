// How often a daemon may die before it is not started again. Pure: the caller
// passes the time.
#ifndef FGNN_SCHEDULER_HOST_BOOK_RESTART_BUDGET_H_
#define FGNN_SCHEDULER_HOST_BOOK_RESTART_BUDGET_H_

#include <chrono>
#include <cstdint>
#include <deque>

#include "shared/base/clock.h"

namespace fgnn {

inline constexpr std::chrono::minutes kRestartWindow{10};

class RestartBudget {
 public:
  // Allows at most `limit` restarts in any kRestartWindow.
  explicit RestartBudget(uint32_t limit) : limit_(limit) {}

  // Records a death at `now`. Returns true if a restart is within the budget.
  bool RecordDeath(Deadline now);
  // Returns how long to wait before the restart: 0 after a first death, then
  // 100 ms, doubling up to 5 s. So a crash loop does not use up the machine.
  std::chrono::milliseconds Backoff() const;
  // Forgets all deaths.
  void Renew() { deaths_.clear(); }
  // Returns the number of deaths in the window that ended with the last one.
  uint32_t deaths() const { return static_cast<uint32_t>(deaths_.size()); }

 private:
  uint32_t limit_;
  std::deque<Deadline> deaths_;  // Times of deaths, at most limit_ + 1.
};

}  // namespace fgnn

#endif  // FGNN_SCHEDULER_HOST_BOOK_RESTART_BUDGET_H_
