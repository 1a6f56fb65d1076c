#include "scheduler/gate/marks.h"

#include <algorithm>
#include <chrono>
#include <iterator>

namespace fgnn {

void Marks::Refill(Bucket& bucket, Deadline now) const {
  const double seconds =
      std::chrono::duration<double>(now - bucket.as_of).count();
  bucket.marks = std::min(most_, bucket.marks + seconds * per_second_);
  bucket.as_of = now;
  if (bucket.marks >= most_) bucket.is_shut = false;
}

bool Marks::Take(const std::string& key, uint32_t marks, Deadline now) {
  Bucket& bucket =
      buckets_.try_emplace(key, Bucket{.marks = most_, .as_of = now})
          .first->second;
  Refill(bucket, now);
  bucket.marks = std::max(0.0, bucket.marks - marks);
  if (bucket.marks < 1) bucket.is_shut = true;
  return !bucket.is_shut;
}

bool Marks::IsShut(const std::string& key, Deadline now) {
  const auto found = buckets_.find(key);
  if (found == buckets_.end()) return false;
  Refill(found->second, now);
  return found->second.is_shut;
}

void Marks::ForgetFull(Deadline now) {
  for (auto one = buckets_.begin(); one != buckets_.end();) {
    Refill(one->second, now);
    one = one->second.marks >= most_ ? buckets_.erase(one) : std::next(one);
  }
}

}  // namespace fgnn
