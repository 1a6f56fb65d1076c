// A rate over the last second or so.
#ifndef FGNN_SCHEDULER_FIGURES_RATE_METER_H_
#define FGNN_SCHEDULER_FIGURES_RATE_METER_H_

#include <chrono>
#include <cstdint>
#include <deque>

#include "shared/base/clock.h"

namespace fgnn {

// Pure: the caller passes the time. Not thread-safe.
class RateMeter {
 public:
  // Counts `count` more events until `now`.
  void Add(uint64_t count, Deadline now) {
    total_ += count;
    // At most ten points a second: a call in between moves the newest one.
    if (points_.size() >= 2 &&
        now - points_[points_.size() - 2].when < kWindow / 10) {
      points_.pop_back();
    }
    points_.push_back({now, total_});
    while (points_.size() > 2 && now - points_[1].when >= kWindow) {
      points_.pop_front();
    }
  }

  // Forgets the points so far, after a break that is not to lower the rate.
  void Restart(Deadline now) { points_.assign(1, {now, total_}); }

  // Returns the events per second; 0: too few points.
  double PerSecond() const {
    if (points_.size() < 2) return 0;
    const double seconds = std::chrono::duration<double>(points_.back().when -
                                                         points_.front().when)
                               .count();
    if (seconds <= 0) return 0;
    return static_cast<double>(points_.back().total - points_.front().total) /
           seconds;
  }

 private:
  struct Point {
    Deadline when;
    uint64_t total;
  };
  static constexpr std::chrono::milliseconds kWindow{1'000};
  std::deque<Point> points_;
  uint64_t total_ = 0;
};

}  // namespace fgnn

#endif  // FGNN_SCHEDULER_FIGURES_RATE_METER_H_
