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
#include "shared/base/types.h"
#include "shared/base/unique_fd.h"

namespace fgnn {

inline constexpr uint32_t kMostDevices = 64;  // That take turns.

// What a segment is made for. Fixed for the job's life.
struct SegmentOptions {
  uint64_t job_key = 0;              // Hash of the job's id.
  uint32_t num_slots = 0;            // [1, 4096].
  uint64_t slot_bytes = 0;           // Measured tasks x 1.25.
  uint32_t num_overflow_blocks = 0;  // One per sampler.
  uint64_t overflow_bytes = 0;       // The hard bound of a task.
  uint64_t batches_per_epoch = 0;    // >= 1.
  uint64_t epochs = 0;               // >= 1.
  uint32_t batches_per_step = 1;     // W, [1, 1024].
  uint32_t staleness = 0;            // s, [0, 1024]; see gradient_board.h.
  uint64_t num_parameters = 0;       // Floats of all weights, P.
  // Floats of optimizer state per weight: 2 for Adam.
  uint32_t optimizer_floats_per_parameter = 2;
  // Steps that were committed before: 0 for a new job, else the version of the
  // checkpoint that it goes on from. [0, steps_per_epoch() * epochs].
  uint64_t first_version = 0;
  // The first CachePlan.
  uint64_t rank_order_key = 0;
  uint64_t cache_rows = 0;
  uint64_t standby_cache_rows = 0;
  // Devices that take turns, [0, 64]; see device_table.h. 0: whoever is
  // attached works.
  uint32_t num_devices = 0;
  uint32_t switching = 0;  // Not 0: their standby trainers may wake.
  // Of those, how many have memory to be planned to sample, and to train.
  uint32_t most_samplers = kMostDevices;
  uint32_t most_trainers = kMostDevices;

  // Steps never span epochs: the last step of an epoch has fewer batches where
  // W does not divide them.
  uint64_t steps_per_epoch() const {
    return (batches_per_epoch + batches_per_step - 1) / batches_per_step;
  }
  bool plans_caches() const { return cache_rows > 0 || standby_cache_rows > 0; }
};

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

  Segment() = default;
  static absl::StatusOr<std::unique_ptr<Segment>> Map(
      UniqueFd fd, const SegmentOptions& options);

  SegmentOptions options_;
  std::unique_ptr<Mapping> mapping_;
  std::unique_ptr<Regions> regions_;
};

}  // namespace fgnn

#endif  // FGNN_SHARED_QUEUE_SEGMENT_H_
