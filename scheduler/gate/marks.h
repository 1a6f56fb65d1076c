// Counts what costs the service more than its client, by user or address. It
// does not help a client to connect again.
#ifndef FGNN_SCHEDULER_GATE_MARKS_H_
#define FGNN_SCHEDULER_GATE_MARKS_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>

#include "shared/base/clock.h"

namespace fgnn {

// Each key has a bucket of marks, which fills again with time. Whoever has
// emptied it waits until it is full. Thread-compatible.
class Marks {
 public:
  // `most`: marks of a full bucket. `per_second`: marks that come back.
  Marks(double most, double per_second)
      : most_(most), per_second_(per_second) {}

  // Takes marks. Returns false if the bucket is empty, or was and has not
  // filled again.
  bool Take(const std::string& key, uint32_t marks, Deadline now);
  // Returns whether the bucket was emptied, and has not filled again.
  bool IsShut(const std::string& key, Deadline now);
  // Number of keys whose bucket is not full.
  size_t size() const { return buckets_.size(); }
  // Forgets the buckets that are full again. Call it from time to time.
  void ForgetFull(Deadline now);

 private:
  struct Bucket {
    double marks = 0;
    Deadline as_of;  // Time for which `marks` holds.
    bool is_shut = false;
  };
  void Refill(Bucket& bucket, Deadline now) const;

  const double most_;
  const double per_second_;
  std::map<std::string, Bucket> buckets_;
};

}  // namespace fgnn

#endif  // FGNN_SCHEDULER_GATE_MARKS_H_
