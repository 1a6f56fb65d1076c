// What the TCP port has refused since the scheduler started, and until when its
// certificate holds, for its metrics.
#ifndef FGNN_SCHEDULER_FIGURES_REFUSAL_COUNTS_H_
#define FGNN_SCHEDULER_FIGURES_REFUSAL_COUNTS_H_

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace fgnn {

enum class RefusalReason : uint8_t {
  kNoCredentials,       // The call shows neither a certificate nor a token.
  kWrongCredentials,    // The certificate or token does not hold.
  kRole,                // The caller's role may not call the method.
  kDeadline,            // The call has no deadline, or one that is too late.
  kTooManyCalls,        // The user, or all users, have no call left.
  kNoAccount,           // This machine has no such user.
  kTooManyConnections,  // The address, or the port, has no connection left.
  kFlood,  // The address has used up its marks, or connects too often.
};
inline constexpr size_t kNumRefusalReasons = 8;

// Returns the reason's word in metrics, such as "no_credentials".
std::string_view WordOf(RefusalReason reason);

// Thread-safe.
class RefusalCounts {
 public:
  void Add(RefusalReason reason) { ++counts_[static_cast<size_t>(reason)]; }
  uint64_t of(RefusalReason reason) const {
    return counts_[static_cast<size_t>(reason)];
  }
  // Seconds since 1970 at which the port's certificate expires; 0: it has none.
  void SetExpiry(int64_t seconds) { expiry_ = seconds; }
  int64_t expiry() const { return expiry_; }

 private:
  std::array<std::atomic<uint64_t>, kNumRefusalReasons> counts_ = {};
  std::atomic<int64_t> expiry_ = 0;
};

}  // namespace fgnn

#endif  // FGNN_SCHEDULER_FIGURES_REFUSAL_COUNTS_H_
