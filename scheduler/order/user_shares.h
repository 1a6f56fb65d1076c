// Device seconds of each user, for fair shares; half of them are forgotten each
// day. Not thread-safe.
#ifndef FGNN_SCHEDULER_ORDER_USER_SHARES_H_
#define FGNN_SCHEDULER_ORDER_USER_SHARES_H_

#include <chrono>
#include <cstdint>
#include <map>
#include <string>

namespace fgnn {

class UserShares {
 public:
  static constexpr std::chrono::hours kHalfLife{24};

  // Charges `seconds` of devices, summed over the devices, that ended at
  // `at_ms`. Times are Unix milliseconds, since they outlive the service.
  void Charge(const std::string& user, double seconds, int64_t at_ms);

  // Returns the weighted seconds of every user who was charged. The order
  // between users does not depend on the time of the call.
  const std::map<std::string, double>& seconds() const { return seconds_; }

 private:
  // Seconds by user, weighted relative to origin_ms_: later seconds count more.
  std::map<std::string, double> seconds_;
  int64_t origin_ms_ = 0;
};

}  // namespace fgnn

#endif  // FGNN_SCHEDULER_ORDER_USER_SHARES_H_
