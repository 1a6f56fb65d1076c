#include "scheduler/order/user_shares.h"

#include <cmath>

namespace fgnn {
namespace {

constexpr double kHalfLifeMs =
    std::chrono::duration<double, std::milli>(UserShares::kHalfLife).count();
// Number of half-lives after which the origin moves, so that weights stay in
// range.
constexpr double kMostHalfLives = 64;

}  // namespace

void UserShares::Charge(const std::string& user, double seconds,
                        int64_t at_ms) {
  if (seconds_.empty()) origin_ms_ = at_ms;
  double half_lives = static_cast<double>(at_ms - origin_ms_) / kHalfLifeMs;
  if (half_lives > kMostHalfLives) {
    for (auto& [name, had] : seconds_) had *= std::exp2(-half_lives);
    origin_ms_ = at_ms;
    half_lives = 0;
  }
  seconds_[user] += seconds * std::exp2(half_lives);
}

}  // namespace fgnn
