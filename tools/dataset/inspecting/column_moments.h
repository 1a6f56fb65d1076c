// Mean and standard deviation of numbers.
#ifndef FGNN_TOOLS_DATASET_INSPECTING_COLUMN_MOMENTS_H_
#define FGNN_TOOLS_DATASET_INSPECTING_COLUMN_MOMENTS_H_

#include <algorithm>
#include <cmath>
#include <cstdint>

namespace fgnn {

// Not thread-safe.
class ColumnMoments {
 public:
  void Add(double value) {
    if (count_++ == 0) first_ = value;
    const double shifted = value - first_;
    sum_ += shifted;
    squares_ += shifted * shifted;
  }

  uint64_t count() const { return count_; }
  // Both are 0 without numbers.
  double mean() const { return count_ == 0 ? 0 : first_ + Shift(); }
  double deviation() const {
    if (count_ == 0) return 0;
    const double variance =
        squares_ / static_cast<double>(count_) - Shift() * Shift();
    return std::sqrt(std::max(0.0, variance));
  }

 private:
  double Shift() const { return sum_ / static_cast<double>(count_); }

  uint64_t count_ = 0;
  double first_ = 0;  // Subtracted from all, so that no digits are lost.
  double sum_ = 0;
  double squares_ = 0;
};

}  // namespace fgnn

#endif  // FGNN_TOOLS_DATASET_INSPECTING_COLUMN_MOMENTS_H_
