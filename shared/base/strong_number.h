// Numbers of one kind, which the compiler keeps apart from numbers of other
// kinds.
#ifndef FGNN_SHARED_BASE_STRONG_NUMBER_H_
#define FGNN_SHARED_BASE_STRONG_NUMBER_H_

#include <compare>
#include <cstdint>

namespace fgnn {

// A running number from 0. A plain number becomes one only by an explicit
// conversion. `Tag` is any type, one for each kind of number.
template <typename Tag>
class StrongNumber {
 public:
  constexpr StrongNumber() = default;
  constexpr explicit StrongNumber(uint64_t value) : value_(value) {}

  constexpr uint64_t value() const { return value_; }

  constexpr StrongNumber& operator++() {
    ++value_;
    return *this;
  }
  friend constexpr StrongNumber operator+(StrongNumber a, uint64_t count) {
    return StrongNumber(a.value_ + count);
  }
  friend constexpr StrongNumber operator-(StrongNumber a, uint64_t count) {
    return StrongNumber(a.value_ - count);
  }
  // Returns how many numbers are in [b, a).
  friend constexpr uint64_t operator-(StrongNumber a, StrongNumber b) {
    return a.value_ - b.value_;
  }
  friend constexpr auto operator<=>(StrongNumber, StrongNumber) = default;

 private:
  uint64_t value_ = 0;
};

}  // namespace fgnn

#endif  // FGNN_SHARED_BASE_STRONG_NUMBER_H_
