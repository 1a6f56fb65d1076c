// The rank order by which a job's tasks are marked.
#ifndef FGNN_SAMPLER_SERVICE_DAEMON_TASK_MARKS_H_
#define FGNN_SAMPLER_SERVICE_DAEMON_TASK_MARKS_H_

#include <cstdint>
#include <optional>

#include "absl/base/thread_annotations.h"
#include "sampler_service/sampling/sampler.h"
#include "shared/base/threads/mutex.h"
#include "shared/graph/dataset.h"
#include "shared/graph/rank_order.h"

namespace fgnn {

// The order is opened once, when it is first asked for. Thread-safe.
class TaskMarks {
 public:
  // Borrows the dataset, with which the order lies.
  explicit TaskMarks(const Dataset* dataset) : dataset_(dataset) {}

  // Returns the ranks of the order with this key, which is not 0, for as long
  // as this object lives. The scheduler never changes a job's key once it is
  // set; a later one is ignored. The folder derived/ may be emptied at any
  // time. If the order was lost, the function writes a line to the log and
  // returns no ranks: trainers find no vertex in their caches then.
  HotRanks RanksOf(uint64_t rank_order_key);

 private:
  const Dataset* const dataset_;
  Mutex mutex_;
  uint64_t key_ ABSL_GUARDED_BY(mutex_) = 0;  // 0: nobody has asked.
  std::optional<RankOrder> order_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace fgnn

#endif  // FGNN_SAMPLER_SERVICE_DAEMON_TASK_MARKS_H_
