// A job's shared memory: one sealed memfd that holds the global queue, the
// gradient board, the weights and the records of the epoch. The layout is
// drawn in shared/queue/README.md.
//
// The scheduler creates it and hands the descriptor to daemons of its own
// user; everyone maps it at an address of their own, so it holds offsets and
// trivially copyable types alone. No lock lives in it: every change of owner is
// one compare-and-swap, so a process killed anywhere leaves a state that the
// reaper can name.
#ifndef FGNN_SHARED_QUEUE_SEGMENT_H_
#define FGNN_SHARED_QUEUE_SEGMENT_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "shared/base/files/unique_fd.h"
#include "shared/base/types.h"
#include "shared/queue/job_shape.h"
#include "shared/queue/segment_options.h"

namespace fgnn {

// What is cached from now on. It may change while a job runs: whoever samples
// or extracts a batch looks at it before.
struct CachePlan {
  // The RankOrder that samplers mark input nodes by and trainers cache by;
  // 0: none yet. One that is there stays.
  uint64_t rank_order_key = 0;
  uint64_t rows = 0;  // Of each trainer: hot ranks below it are cached.
  // Of each standby trainer; see DeviceTable::cache().
  uint64_t standby_rows = 0;

  bool operator==(const CachePlan&) const = default;
};

// What one trainer caches.
struct TrainerCache {
  uint64_t rank_order_key = 0;
  uint64_t rows = 0;

  bool operator==(const TrainerCache&) const = default;
};

// InvalidArgument naming the field that is out of range.
absl::Status ValidateOptions(const SegmentOptions& options);

// Bytes of the segment that Create() would make.
uint64_t SegmentBytes(const SegmentOptions& options);

// A mapped segment. Movable in the sense of its unique_ptr; the mapping stays
// where it is. Thread-safe: it only holds addresses.
class Segment {
 public:
  // Scheduler only. Allocates every page (posix_fallocate), so that touching
  // one later cannot kill anyone; before that it asks MemAvailable and the
  // cgroup's limit. ResourceExhausted with need and have where it does not fit.
  static absl::StatusOr<std::unique_ptr<Segment>> Create(
      const SegmentOptions& options);

  // Any daemon, of a descriptor it was handed. InvalidArgument if the
  // segment is not sealed, has another layout version, another job, or sizes
  // that do not add up to the file's.
  static absl::StatusOr<std::unique_ptr<Segment>> Attach(UniqueFd fd,
                                                         uint64_t job_key);
  ~Segment();
  Segment(const Segment&) = delete;
  Segment& operator=(const Segment&) = delete;

  // Borrowed; to be sent to a daemon with SCM_RIGHTS.
  int fd() const;
  // A copy taken at Create/Attach: a peer cannot change it afterwards.
  const SegmentOptions& options() const { return options_; }
  // Which task lives in which slot, and which batch makes which step.
  const JobShape& shape() const { return shape_; }
  uint64_t total_bytes() const;

  CachePlan cache_plan() const;
  // Scheduler only.
  void SetCachePlan(const CachePlan& plan);

  // What the learning rate of the job's schedule is multiplied by in a step.
  double rate_factor() const;
  // Scheduler only, while training is closed: whoever makes a step that is
  // opened afterwards reads this value. 1 in a new segment.
  void SetRateFactor(double factor);

  // For GlobalQueue and GradientBoard.
  struct Regions;
  const Regions& regions() const { return *regions_; }

 private:
  struct Mapping;

  explicit Segment(const SegmentOptions& options);
  static absl::StatusOr<std::unique_ptr<Segment>> Map(
      UniqueFd fd, const SegmentOptions& options);

  const SegmentOptions options_;
  const JobShape shape_;
  std::unique_ptr<Mapping> mapping_;
  std::unique_ptr<Regions> regions_;
};

}  // namespace fgnn

#endif  // FGNN_SHARED_QUEUE_SEGMENT_H_
