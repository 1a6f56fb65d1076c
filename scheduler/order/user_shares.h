// What users have had of the devices, half of it forgotten each day, for the
// fair share between them. Not thread-safe.
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

  // `seconds` of devices, each of them counted, until the moment `at_ms`.
  // Moments are Unix milliseconds: they outlive the service.
  void Charge(const std::string& user, double seconds, int64_t at_ms);

  // Of every user who was charged, as it counts now: the order between users
  // does not depend on the moment that it is asked for.
  const std::map<std::string, double>& seconds() const { return seconds_; }

 private:
  // All in seconds of the moment origin_ms_: what was had later counts more.
  std::map<std::string, double> seconds_;
  int64_t origin_ms_ = 0;
};

}  // namespace fgnn

#endif  // FGNN_SCHEDULER_ORDER_USER_SHARES_H_
