// How often a daemon may die before nobody starts it again. Pure: the caller
// brings the clock.
#ifndef FGNN_SCHEDULER_HOST_BOOK_RESTART_BUDGET_H_
#define FGNN_SCHEDULER_HOST_BOOK_RESTART_BUDGET_H_

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>

#include "shared/base/clock.h"

namespace fgnn {

inline constexpr std::chrono::minutes kRestartWindow{10};

class RestartBudget {
 public:
  // At most `limit` restarts in any kRestartWindow.
  explicit RestartBudget(uint32_t limit) : limit_(limit) {}

  // A death at `now`. True if a restart is within the budget.
  bool RecordDeath(Deadline now);
  // How long to wait before the restart: nothing after a first death, then
  // 100 ms, doubling up to 5 s, so that a crash loop does not eat the machine.
  std::chrono::milliseconds Backoff() const;
  // Forgets all deaths.
  void Renew() { deaths_.clear(); }
  // Deaths in the window that ended with the last one.
  uint32_t deaths() const { return static_cast<uint32_t>(deaths_.size()); }

 private:
  uint32_t limit_;
  std::deque<Deadline> deaths_;  // At most limit_ + 1.
};

}  // namespace fgnn

#endif  // FGNN_SCHEDULER_HOST_BOOK_RESTART_BUDGET_H_
