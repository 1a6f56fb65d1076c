// A job's shared memory: one sealed memfd that holds the global queue, the
// gradient board, the weights and the records of the epoch. The layout is
// drawn in shared/queue/README.md.
//
// The scheduler creates the segment and hands its descriptor to daemons of the
// scheduler's own user. Each process maps the segment at another address, so
// the segment holds only offsets and trivially copyable types. The segment
// holds no lock: every change of owner is one compare-and-swap. So a process
// that is killed anywhere leaves a state from which the reaper can recover.
#ifndef FGNN_SHARED_QUEUE_SEGMENT_H_
#define FGNN_SHARED_QUEUE_SEGMENT_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "shared/base/files/unique_fd.h"
#include "shared/base/types.h"
#include "shared/queue/job_shape.h"
#include "shared/queue/segment_options.h"

namespace fgnn {

// What is cached from now on. The plan may change while a job runs: samplers
// and trainers read it before they sample or extract a batch.
struct CachePlan {
  // Key of the RankOrder by which samplers mark input nodes and trainers cache;
  // 0: none yet. A key that is not 0 never changes.
  uint64_t rank_order_key = 0;
  // Number of rows that each trainer caches: those of hot ranks below it.
  uint64_t rows = 0;
  // Number of rows that each standby trainer caches; see DeviceTable::cache().
  uint64_t standby_rows = 0;
  // Number of the table of `rows` rows that all trainers share, standby
  // trainers too (shared/hot_table); 0: each trainer has a table of its own.
  uint64_t table = 0;

  bool operator==(const CachePlan&) const = default;
};

// What one trainer caches.
struct TrainerCache {
  uint64_t rank_order_key = 0;
  uint64_t rows = 0;
  uint64_t table = 0;  // See CachePlan.

  bool operator==(const TrainerCache&) const = default;
};

// Returns InvalidArgument, naming the field, if a field is out of range.
absl::Status ValidateOptions(const SegmentOptions& options);

// Returns the bytes that Create() would allocate at once. Where batches have
// parts, neither overflow blocks nor messages are among them.
uint64_t SegmentBytes(const SegmentOptions& options);

// A mapped segment. The unique_ptr that owns the segment may be moved; the
// mapping keeps its address. Thread-safe: the object only holds addresses.
class Segment {
 public:
  // Scheduler only. Allocates the pages of SegmentBytes() (posix_fallocate), so
  // that no process is killed later because it touches one. Compares the size
  // with MemAvailable and the cgroup's limit first. Returns ResourceExhausted,
  // which names the needed and the available memory, if the segment does not
  // fit.
  static absl::StatusOr<std::unique_ptr<Segment>> Create(
      const SegmentOptions& options);

  // Any daemon, with the descriptor that the scheduler handed to it. Returns
  // InvalidArgument if the segment is not sealed, or has another layout version
  // or another job. Also returns it if the sizes do not add up to the size of
  // the file.
  static absl::StatusOr<std::unique_ptr<Segment>> Attach(UniqueFd fd,
                                                         uint64_t job_key);
  ~Segment();
  Segment(const Segment&) = delete;
  Segment& operator=(const Segment&) = delete;

  // The descriptor, borrowed. The scheduler sends it to a daemon with
  // SCM_RIGHTS.
  int fd() const;
  // A copy that Create() or Attach() took: no other process can change it.
  const SegmentOptions& options() const { return options_; }
  // Which task lives in which slot, and which batch makes which step.
  const JobShape& shape() const { return shape_; }
  uint64_t total_bytes() const;
  // Memory of all slots and overflow blocks, in which tasks lie.
  absl::Span<std::byte> task_blocks() const;

  CachePlan cache_plan() const;
  // Scheduler only.
  void SetCachePlan(const CachePlan& plan);

  // Factor by which a step multiplies the learning rate of the job's schedule.
  double rate_factor() const;
  // Scheduler only, while training is closed. A trainer that makes a step that
  // is opened afterwards reads this value. The factor of a new segment is 1.
  void SetRateFactor(double factor);

  // Trainers only. Returns the kind of the job's trainers: the first number
  // with which a trainer has called this, which is not 0.
  uint64_t AgreeOnTrainers(uint64_t kind);

  // The regions of the mapping. For GlobalQueue, GradientBoard and DeviceTable.
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
